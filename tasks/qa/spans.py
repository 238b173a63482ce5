"""The best span: a start and an end that go together."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class BestSpans(NamedTuple):
    """For each row the best pair of a start and an end, both inside the span, and the sum of their scores."""

    start: Int[Tensor, " B"]
    end: Int[Tensor, " B"]
    score: Float[Tensor, " B"]


def best_spans(start: Float[Tensor, "B P"], end: Float[Tensor, "B P"], *, longest: int) -> BestSpans:
    """The pair with the largest sum among those whose end is not before their start, at most `longest` words in all.

    What can be no part of an answer has a score of minus infinity in both.
    """
    places = torch.arange(start.shape[-1], device=start.device)
    length = places - places.unsqueeze(-1)
    scores = start.unsqueeze(-1) + end.unsqueeze(-2)
    scores = scores.masked_fill((length < 0) | (length >= longest), -torch.inf)
    score, place = scores.flatten(1).max(dim=-1)
    return BestSpans(place // start.shape[-1], place % start.shape[-1], score)
