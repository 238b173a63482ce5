"""A batch of questions about passages: every different word once, and rows of places in that table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from core.masks import padding
from core.sentences import Span
from tasks.qa.lexicon import Lexicon


class Rows(NamedTuple):
    """An example before it is padded: a row a window, the same question in each."""

    passages: list[np.ndarray]
    passage_features: list[np.ndarray]
    question: np.ndarray
    question_features: np.ndarray
    labels: list[Span | None]
    """First and last word of the answer within each window; None where the window does not hold it whole."""
    focus: int


class Batch(NamedTuple):
    """R windows of B examples. Passages and questions hold places in the table of the U words that they are made of."""

    pieces: Int[Tensor, "U N"]
    characters: Int[Tensor, "U L"]
    passage: Int[Tensor, "R P"]
    passage_mask: Bool[Tensor, "R 1 P"]
    passage_features: Float[Tensor, "R P F"]
    question: Int[Tensor, "R Q"]
    question_mask: Bool[Tensor, "R 1 Q"]
    question_features: Float[Tensor, "R Q F"]
    start: Int[Tensor, " R"]
    """The first word of the answer, counted from 1; 0 where there is none in this window."""
    end: Int[Tensor, " R"]
    owner: Int[Tensor, " R"]
    """The example that each window is of."""
    focus: Int[Tensor, " B"]
    """The window of each example that holds its answer."""

    def focused(self) -> "Batch":
        """One window an example, the one that holds its answer."""
        if len(self.focus) == len(self.owner):
            return self
        rows = {name: getattr(self, name)[self.focus] for name in self._fields[2:-1]}
        return self._replace(**rows, focus=torch.arange(len(self.focus), device=self.focus.device))


class Found(NamedTuple):
    """The best answer to a question: first and last word within one of its windows, and how likely it is."""

    window: int
    start: int
    end: int
    log_probability: float
    """Of its start and its end, in nats."""
    none: float
    """Of no answer in any window, in nats: twice the logarithm of its probability, the least over the windows."""


def batch_of(examples: Sequence[Rows], lexicon: Lexicon) -> Batch:
    passages = [row for example in examples for row in example.passages]
    counts = [len(example.passages) for example in examples]
    questions = [example.question for example in examples for _ in example.passages]
    lengths = [len(row) for row in (*passages, *questions)]
    numbers, places = np.unique(np.concatenate([*passages, *questions]), return_inverse=True)
    rows = torch.from_numpy(places).split(lengths)
    pieces, characters = lexicon.table(numbers.tolist())
    labels = [label for example in examples for label in example.labels]
    of_passages = torch.tensor(lengths[: len(passages)])
    of_questions = torch.tensor(lengths[len(passages) :])
    firsts = np.cumsum([0, *counts[:-1]])
    return Batch(
        pieces=torch.from_numpy(pieces),
        characters=torch.from_numpy(characters),
        passage=pad_sequence(list(rows[: len(passages)]), batch_first=True),
        passage_mask=padding(of_passages, int(of_passages.max())),
        passage_features=padded([row for example in examples for row in example.passage_features]),
        question=pad_sequence(list(rows[len(passages) :]), batch_first=True),
        question_mask=padding(of_questions, int(of_questions.max())),
        question_features=padded([example.question_features for example in examples for _ in example.passages]),
        start=torch.tensor([label[0] + 1 if label else 0 for label in labels]),
        end=torch.tensor([label[1] + 1 if label else 0 for label in labels]),
        owner=torch.tensor([number for number, count in enumerate(counts) for _ in range(count)]),
        focus=torch.tensor([int(first) + example.focus for first, example in zip(firsts, examples, strict=True)]),
    )


def padded(rows: Sequence[np.ndarray]) -> Float[Tensor, "R T F"]:
    return pad_sequence([torch.from_numpy(row) for row in rows], batch_first=True)
