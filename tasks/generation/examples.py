"""Examples of text, the batches made of them, and the windows that a text is cut into."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

PAD = 0
"""The id of padding; no text has it."""
SHORT = 48
"""Tokens of the first windows of a split, at most: those whose attention is drawn."""
SHORT_WINDOWS = 20


class Link(NamedTuple):
    """A place whose next token is decided by what was read, and the places that decide it."""

    query: int
    keys: tuple[int, ...]
    kind: str


class Example(NamedTuple):
    """A stretch of text to be scored, or a prompt to go on from.

    All tokens but the last are read, and all but the first are predicted, each from those before it.
    """

    ids: tuple[int, ...]
    scored: int = 1
    """The first token that counts; those before it are only read."""
    length: int = 0
    """How many tokens are to follow; 0 for a text that is scored."""
    text: str = ""
    """What was typed; a window leaves it to its ids."""
    labels: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    tokens: int = 0
    """How many a prompt had, before its end was kept."""


class Batch(NamedTuple):
    """Tokens that are read, and the token that follows each: 0 where none does, or none that counts."""

    tokens: Int[Tensor, "B T"]
    following: Int[Tensor, "B T"]
    counts: Bool[Tensor, "B T"]
    length: int
    """How many tokens are to be generated after those that are read; 0 where the text itself is scored."""


def collate(examples: Sequence[Example]) -> Batch:
    """Padding stands at the end, where nothing that counts can see it."""
    length = max(example.length for example in examples)
    rows = [torch.tensor(example.ids) for example in examples]
    if length:
        tokens = pad_sequence(rows, batch_first=True, padding_value=PAD)
        return Batch(tokens, torch.zeros_like(tokens), torch.zeros_like(tokens, dtype=torch.bool), length)
    padded = pad_sequence(rows, batch_first=True, padding_value=PAD)
    tokens, after = padded[:, :-1], padded[:, 1:]
    first = torch.tensor([example.scored for example in examples])[:, None]
    counts = (torch.arange(1, padded.shape[1]) >= first) & (after != PAD)
    return Batch(tokens, after, counts, 0)


def windows(ids: Sequence[int], context: int, stride: int) -> Iterator[Example]:
    """A text in windows such that every token but the first is scored exactly once.

    A window reads at most `context` tokens, and scores the last `stride` of what it predicts; its first one scores
    all. The first few are short.
    """
    done = 1
    for number in range(len(ids)):
        if done >= len(ids):
            return
        reads = min(context, SHORT) if number < SHORT_WINDOWS else context
        step = min(stride, reads)
        stop = min(len(ids), done + step)
        start = max(0, stop - reads - 1) if stride < context else done - 1
        yield Example(tuple(ids[start:stop]), scored=done - start)
        done = stop


class RandomWindows:
    """A sampler of training batches: each holds the places of windows, drawn anew in every epoch."""

    def __init__(self, tokens: int, *, context: int, rows: int, steps: int, seed: int) -> None:
        self.places, self.rows, self.steps, self.seed = tokens - context, rows, steps, seed
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        chance = torch.Generator().manual_seed(1_000_003 * self.seed + epoch)
        self.starts = torch.randint(self.places, (self.steps, self.rows), generator=chance)

    def __iter__(self) -> Iterator[Int[Tensor, " B"]]:
        return iter(self.starts)

    def __len__(self) -> int:
        return self.steps


class Windows(torch.utils.data.Dataset):
    """Batches by the places where their windows begin."""

    def __init__(self, ids: Int[Tensor, " N"], context: int) -> None:
        self.ids, self.context = ids, context

    def __getitem__(self, starts: Int[Tensor, " B"]) -> Batch:
        rows = self.ids[starts[:, None] + torch.arange(self.context + 1)]
        return Batch(rows[:, :-1], rows[:, 1:], torch.ones_like(rows[:, 1:], dtype=torch.bool), 0)
