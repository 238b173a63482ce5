"""Masks: bool, True = may attend."""

import pytest
import torch

from core import masks


def rows(mask: torch.Tensor) -> list[str]:
    return ["".join("01"[int(seen)] for seen in row) for row in mask]


def test_padding():
    mask = masks.padding(torch.tensor([3, 0, 5]), 5)
    assert mask.dtype == torch.bool and mask.shape == (3, 1, 5)
    assert rows(mask.squeeze(1)) == ["11100", "00000", "11111"]
    assert masks.padding(torch.tensor([2], dtype=torch.int32), 0).shape == (1, 1, 0)


@pytest.mark.parametrize(
    "queries, keys, expected",
    [
        (3, 3, ["100", "110", "111"]),
        (2, 5, ["11110", "11111"]),  # A07: two new tokens beside a cache of three
        (1, 5, ["11111"]),
        (3, 2, ["00", "10", "11"]),
        (0, 3, []),
        (2, 0, ["", ""]),
    ],
)
def test_causal(queries, keys, expected):
    mask = masks.causal(queries, keys)
    assert mask.dtype == torch.bool and mask.shape == (queries, keys)
    assert rows(mask) == expected


@pytest.mark.parametrize(
    "queries, keys, before, after, first, expected",
    [
        (5, 5, 1, 1, 0, ["11000", "11100", "01110", "00111", "00011"]),  # A09
        (2, 2, 8, 8, 0, ["11", "11"]),
        (1, 1, 1, 1, 0, ["1"]),
        (3, 5, 1, 0, 2, ["01100", "00110", "00011"]),
        (2, 3, 1, 1, 3, ["001", "000"]),  # at the end, and beyond it
        (3, 3, 0, 0, 0, ["100", "010", "001"]),
    ],
)
def test_local(queries, keys, before, after, first, expected):
    assert rows(masks.local(queries, keys, before, after, first=first)) == expected


def test_masks_combine():
    mask = masks.padding(torch.tensor([2, 3]), 3) & masks.causal(3, 3)
    assert rows(mask[0]) == ["100", "110", "110"] and rows(mask[1]) == ["100", "110", "111"]


def test_the_device_is_kept():
    meta = torch.device("meta")
    assert masks.causal(2, 3, device=meta).device == masks.local(2, 3, 1, 1, device=meta).device == meta
    assert masks.padding(torch.ones(2, dtype=torch.long, device=meta), 3).device == meta
