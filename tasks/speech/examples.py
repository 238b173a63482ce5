"""Recordings with transcripts, and batches of their features."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from tasks.speech.audio import Samples, Waves
from tasks.speech.characters import Characters


class Said(NamedTuple):
    """Characters [first, last) of a transcript, and when they are said."""

    first: int
    last: int
    start: float
    """Seconds."""
    end: float


class Recording(NamedTuple):
    """A sound and what is said in it."""

    name: str
    parts: tuple[Samples, ...]
    """Samples, one after the other; recordings that share a part share its memory."""
    rate: int
    text: str = ""
    said: tuple[Said, ...] = ()
    """When, where it is known."""
    speaker: str | None = None
    notices: tuple[str, ...] = ()

    @property
    def waves(self) -> Waves:
        return Waves(np.concatenate(self.parts) if self.parts else np.zeros(0, np.float32), self.rate)

    @property
    def samples(self) -> int:
        return sum(map(len, self.parts))

    @property
    def seconds(self) -> float:
        return self.samples / self.rate


class Example(NamedTuple):
    """A recording, and its transcript in ids."""

    recording: Recording
    ids: tuple[int, ...] = ()
    varied: bool = False
    """In training: heard at another speed, and with parts hidden, each time."""
    blank: tuple[int, ...] = ()
    """Frames of the encoder in whose place the mean of the sound stands."""


class Batch(NamedTuple):
    """Features and transcripts, padded."""

    features: Float[Tensor, "B F M"]
    frames: Bool[Tensor, "B F"]
    """True where there is sound."""
    target: Int[Tensor, "B T"]
    """Transcripts between a start and an end mark."""


def batched(features: Sequence[Float[Tensor, "_ M"]], ids: Sequence[Sequence[int]]) -> Batch:
    lengths = torch.tensor([len(each) for each in features])
    targets = [torch.tensor([Characters.START, *each, Characters.END]) for each in ids]
    return Batch(
        pad_sequence(list(features), batch_first=True),
        torch.arange(int(lengths.max())) < lengths[:, None],
        pad_sequence(targets, batch_first=True, padding_value=Characters.PAD),
    )
