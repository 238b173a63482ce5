"""Does a model look at the text that an answer, or a summary, rests on?

`core.maps.scores.merge` sums weights over sentences, where sentences are to be ranked.
"""

import math
from collections.abc import Collection

import numpy as np
from jaxtyping import Float

from core.maps.scores import Link, check_span, share_on


def mass_on(weights: Float[np.ndarray, "H Q K"], spans: Collection[Link]) -> Float[np.ndarray, " H"]:
    """The share of each head's weight on the keys of the spans [start, end), as a mean over rows that attend at all.

    A key in two spans counts once. A head that attends to nothing is NaN. Raises ValueError for a span that is empty
    or outside.
    """
    return share_on(weights, _inside(spans, weights.shape[-1]))


def uniform_mass(spans: Collection[Link], keys: int) -> float:
    """The baseline of `mass_on`: the share of keys that are in a span. Raises ValueError as `mass_on` does."""
    return sum(_inside(spans, keys)) / keys


def average_precision(scores: Float[np.ndarray, " N"], relevant: Collection[int]) -> float:
    """How early the relevant items come when items are ranked by score: 1 where they come first, NaN without any.

    The mean, over relevant items, of the share of relevant ones among those ranked down to it. Items of equal score
    have no order, so this is the mean over all of their orders, exactly (McSherry and Najork 2008, "Computing
    information retrieval performance measures efficiently in the presence of tied scores").

    Raises ValueError where a relevant item is outside or a score is not finite.
    """
    wanted = set(relevant)
    if not np.isfinite(scores).all() or not wanted <= set(range(len(scores))):
        raise ValueError(
            f"Average precision takes finite scores and relevant items from 0 to {len(scores) - 1}; "
            f"received scores {scores.tolist()} and items {sorted(wanted)}."
        )
    total, ranked, found = 0.0, 0, 0
    for score in np.unique(scores)[::-1]:
        tied = np.flatnonzero(scores == score)
        hits = len(wanted.intersection(tied.tolist()))
        total += _of_tied(len(tied), hits, ranked, found)
        ranked, found = ranked + len(tied), found + hits
    return total / len(wanted) if wanted else math.nan


def random_average_precision(items: int, relevant: int) -> float:
    """The baseline: the average precision to expect of a random order, exactly. NaN where nothing is relevant.

    A little more than the share of relevant items, above all where items are few.
    """
    return average_precision(np.zeros(items), range(relevant))


def _of_tied(items: int, hits: int, ranked: int, found: int) -> float:
    """The sum to expect of precisions at the relevant ones (`hits`) of equal items that come after `ranked` others.

    Place i holds a relevant one with probability hits / items, and then (i - 1) (hits - 1) / (items - 1) of the equal
    items before it are relevant.
    """
    before = np.arange(items)
    relevant = found + 1 + before * (hits - 1) / max(items - 1, 1)
    return float((hits / items * relevant / (ranked + 1 + before)).sum())


def _inside(spans: Collection[Link], keys: int) -> list[bool]:
    marks = [False] * keys
    for start, end in spans:
        check_span((start, end), keys)
        marks[start:end] = [True] * (end - start)
    return marks
