"""Pictures with captions, and batches of them, in which the captions of a picture share it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from tasks.captioning.features import maps_of
from tasks.captioning.pictures import Photo
from tasks.captioning.words import Words


class Captioned(NamedTuple):
    """A picture and what people said of it."""

    photo: Photo
    captions: list[str]


class Example(NamedTuple):
    """A picture, ready for an encoder, and its captions in words and in ids, which carry no marks."""

    photo: Photo
    input: np.ndarray | None
    """`3 Y X` bytes, or the features of a picture; None where there is no picture."""
    captions: tuple[str, ...] = ()
    ids: tuple[tuple[int, ...], ...] = ()
    mirrored: np.ndarray | None = None
    """The same of the picture in a mirror, where training may take either."""
    blank: tuple[int, ...] = ()
    """Cells in whose place the mean of all cells stands."""


class Batch(NamedTuple):
    """Pictures, and rows that each caption one of them: several captions of a picture share it."""

    pictures: list[Tensor]
    """The maps of an encoder, `N C Y X` each; or the pictures themselves, in bytes."""
    blank: Bool[Tensor, "N K"] | None
    shown: Int[Tensor, " B"]
    """The number of the picture of each example."""
    owner: Int[Tensor, " R"]
    """The number of the picture of each caption."""
    first: Int[Tensor, " B"]
    """The number of the first caption of each example."""
    target: Int[Tensor, "R T"]
    """Captions between a start and an end mark, padded."""


def batched(examples: Sequence[Example], shapes: Sequence[Sequence[int]] | None, cells: int) -> Batch:
    """A batch of maps of these shapes where an encoder made features, else of pictures; `cells` is their number."""
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    shown = [numbers.setdefault((id(each.input), each.blank), len(numbers)) for each in examples]
    different = [examples[shown.index(number)] for number in range(len(numbers))]
    inputs = [side(each) for each in different]
    rows = [(number, ids) for number, each in zip(shown, examples, strict=True) for ids in each.ids]
    ends = np.cumsum([0, *(len(each.ids) for each in examples)])
    targets = [torch.tensor([Words.START, *ids, Words.END]) for _, ids in rows]
    return Batch(
        pictures=maps_of(inputs, shapes) if shapes else [torch.from_numpy(np.stack(inputs))],
        blank=blanks(different, cells),
        shown=torch.tensor(shown),
        owner=torch.tensor([number for number, _ in rows], dtype=torch.long),
        first=torch.from_numpy(ends[:-1]),
        target=pad_sequence(targets or [torch.tensor([Words.START])], batch_first=True, padding_value=Words.PAD),
    )


def side(example: Example) -> np.ndarray:
    """What is seen of a picture: in training, where it may be mirrored, it is so every other time."""
    assert example.input is not None, "an example without a picture has the size 0 and is in no batch"
    return example.mirrored if example.mirrored is not None and torch.rand(()) < 0.5 else example.input


def blanks(examples: Sequence[Example], cells: int) -> Bool[Tensor, "N K"] | None:
    if not any(each.blank for each in examples):
        return None
    blank = torch.zeros(len(examples), cells, dtype=torch.bool)
    for number, each in enumerate(examples):
        blank[number, list(each.blank)] = True
    return blank
