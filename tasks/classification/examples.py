"""Texts with labels, and batches of them, in which a word that occurs often is read once."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from core.masks import padding
from tasks.classification.words import Told, Vocabulary, shape

UNLABELLED = -1
"""The label of a text that has none; it counts for no loss."""


class Labelled(NamedTuple):
    """A text and the name of its label."""

    text: str
    label: str


class Example(NamedTuple):
    """A text in words, ready for a model."""

    told: Told
    words: tuple[str, ...]
    """As they are written, cut to the longest length."""
    label: int
    truth: str = ""
    """The name of its label, where there is one: `label` may be forced to be another."""
    blank: tuple[int, ...] = ()
    """Words in whose place nothing stands."""


class Batch(NamedTuple):
    """Texts as places in a list of their different words."""

    ids: Int[Tensor, " N"]
    """The number of each different word; row 0 is nothing."""
    parts: Int[Tensor, "N P"]
    """The numbers of its parts, padded with 0."""
    shapes: Int[Tensor, " N"]
    """How it is written, see `shape`."""
    place: Int[Tensor, "B T"]
    """Which of them stands where; 0 where nothing does."""
    mask: Bool[Tensor, "B 1 T"]
    """True for the words of each text, also for those in whose place nothing stands."""
    label: Int[Tensor, " B"]


def batched(examples: Sequence[Example], vocabulary: Vocabulary) -> Batch:
    different: dict[str, int] = {}
    rows = []
    for example in examples:
        places = [different.setdefault(word, len(different) + 1) for word in example.words]
        for blank in example.blank:
            places[blank] = 0
        rows.append(torch.tensor(places))
    parts = [torch.tensor(each) for each in ((Vocabulary.NOTHING,), *map(vocabulary.parts, different))]
    lengths = torch.tensor([len(row) for row in rows])
    return Batch(
        ids=torch.tensor([Vocabulary.NOTHING, *map(vocabulary.id, different)]),
        parts=pad_sequence(parts, batch_first=True, padding_value=Vocabulary.NOTHING),
        shapes=torch.tensor([0, *map(shape, different)]),
        place=pad_sequence(rows, batch_first=True, padding_value=0),
        mask=padding(lengths, int(lengths.max())),
        label=torch.tensor([example.label for example in examples]),
    )
