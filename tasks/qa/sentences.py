"""Which sentence of a passage a word is in. Many questions are about one passage, so its sentences are kept."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from jaxtyping import Int

from core import sentences as core_sentences
from core.sentences import Span


@lru_cache(maxsize=50_000)
def sentences(text: str) -> list[Span]:
    """The sentences of a passage, all of it where it has none; not to be changed."""
    return core_sentences.sentences(text) or [(0, len(text))]


def numbers(spans: Sequence[Span], text: str) -> Int[np.ndarray, " T"]:
    """For each word the number of its sentence; what stands between two belongs to the one before."""
    starts = [start for start, _ in sentences(text)]
    return np.array([max(0, bisect_right(starts, start) - 1) for start, _ in spans], dtype=np.int64)
