"""Does a model listen from left to right, and to each token while it is spoken? Scores of maps over a sound."""

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from core.maps.scores import Link, check_span, shares

BACK = 1e-4
"""Keys that a step may go back and still count as standing: rounding in single precision over long sounds."""


def forward_share(weights: Float[np.ndarray, "H Q K"]) -> Float[np.ndarray, " H"]:
    """The share of each head's steps, from a query to the next, whose expected key does not go back.

    The expected key is the mean of key numbers, weighted. Rows of zeros are skipped; fewer than two others make NaN.
    Queries that look anywhere at random score 0.5, and a head that never moves scores 1, so read it beside
    `mass_within`.
    """
    expected = shares(weights) @ np.arange(weights.shape[-1], dtype=np.float64)
    attending = weights.sum(axis=-1) > 0
    steps = [np.diff(keys[rows]) for keys, rows in zip(expected, attending, strict=True)]
    return np.array([float((each >= -BACK).mean()) if len(each) else math.nan for each in steps])


def mass_within(weights: Float[np.ndarray, "H Q K"], frames: Mapping[int, Link]) -> Float[np.ndarray, " H"]:
    """The share of weight that falls on the frames [start, end) of a query's token, as a mean over queries with frames.

    `frames[query]` are keys. Rows are divided by their sums, and a row of zeros has nothing within. NaN without frames.
    Raises ValueError for frames that are none or are outside, or a query outside.
    """
    _, queries, keys = weights.shape
    if not frames:
        return np.full(len(weights), np.nan)
    for query, span in frames.items():
        if not 0 <= query < queries:
            raise ValueError(f"There are frames for query {query}, but the weights have {queries}, counted from 0.")
        check_span(span, keys)
    parts = shares(weights)
    return np.mean([parts[:, query, slice(*span)].sum(axis=-1) for query, span in frames.items()], axis=0)


def uniform_within(frames: Mapping[int, Link], keys: int) -> float:
    """The baseline of `mass_within`: even weights over all keys. NaN without frames; raises as `mass_within` does."""
    for span in frames.values():
        check_span(span, keys)
    return float(np.mean([(end - start) / keys for start, end in frames.values()])) if frames else math.nan
