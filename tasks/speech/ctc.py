"""Connectionist temporal classification (Graves et al. 2006) beside attention (Kim et al. 2017)."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F


def needed_frames(ids: Sequence[int]) -> int:
    """The fewest frames that can carry a transcript: one for each character, and a blank between equal ones."""
    return len(ids) + sum(one == other for one, other in pairwise(ids))


def can_carry(frames: Int[Tensor, " B"], target: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]) -> Bool[Tensor, " B"]:
    """The rows with frames enough."""
    inside = torch.arange(1, target.shape[1], device=target.device) < lengths[:, None]
    repeats = ((target[:, 1:] == target[:, :-1]) & inside).sum(dim=-1)
    return frames >= lengths + repeats


def ctc_loss(
    logits: Float[Tensor, "B K V"],
    frames: Int[Tensor, " B"],
    target: Int[Tensor, "B T"],
    lengths: Int[Tensor, " B"],
    *,
    blank: int,
) -> Float[Tensor, ""]:
    """The mean over rows of nats for each character; a row whose frames cannot carry its transcript is left out, where
    the loss would be infinite. 0 where no row is left."""
    possible = can_carry(frames, target, lengths)
    if not possible.any():
        return logits.sum() * 0.0
    spoken = logits.float().log_softmax(dim=-1)[possible].transpose(0, 1)
    return F.ctc_loss(spoken, target[possible], frames[possible], lengths[possible], blank=blank)
