"""Who aligns with whom: the gaze of a translation model against true word links."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from core.data import MapScores
from core.maps import AttentionMap
from core.maps.scores import at_offset, diagonal, link_counts, merge, uniform_accuracy
from core.metrics import Score

OFFSETS = (0, 1)
"""Whether a word's partner is looked at by the step that predicts the word, or by the next one, is measured."""


class Reading(NamedTuple):
    """One way of reading an alignment off the gaze."""

    module: str
    head: str
    offset: int

    def __str__(self) -> str:
        step = "at the predicting step" if self.offset == 0 else "one step later"
        return f"{self.module}, head {self.head}, {step}"


class Aligned(NamedTuple):
    """The maps of one example whose reference was forced, and what is true of it."""

    maps: list[AttentionMap]
    source_words: list[int]
    """For each source piece the number of its word; -1 for a mark."""
    target_words: list[int]
    links: tuple[tuple[int, int], ...]


def scores(validation: Sequence[Aligned], test: Sequence[Aligned]) -> MapScores:
    """Link accuracy on `test` by the reading that was best on `validation`, between its baselines."""
    tried, found = accuracies(validation), accuracies(test)
    best = max(tried, key=tried.__getitem__)
    return MapScores(
        {
            "link accuracy": Score(found[best], f"{best}; the best of {len(tried)} readings on validation"),
            "link accuracy, diagonal": Score(baseline(test, diagonal), "baseline: reading at an even pace"),
            "link accuracy, uniform": Score(chance(test), "baseline: looking anywhere"),
        },
        [{**reading._asdict(), "validation": tried[reading], "test": found[reading]} for reading in found],
    )


def accuracies(examples: Sequence[Aligned]) -> dict[Reading, float]:
    """Link accuracy of every head of every module, and of the mean of its heads, at each offset."""
    hits: dict[Reading, int] = defaultdict(int)
    totals: dict[Reading, int] = defaultdict(int)
    for example in examples:
        for map in example.maps:
            weights = np.concatenate([map.weights, map.mean().weights])
            names = [*(str(head) for head in range(len(map.weights))), "mean"]
            for offset in OFFSETS:
                merged = merge(at_offset(weights, offset), example.target_words, example.source_words)
                found, total = link_counts(merged, example.links)
                for name, count in zip(names, found, strict=True):
                    hits[Reading(map.name, name, offset)] += int(count)
                    totals[Reading(map.name, name, offset)] += total
    return {reading: hits[reading] / max(1, totals[reading]) for reading in hits}


def baseline(examples: Sequence[Aligned], weights: Callable[[int, int], np.ndarray]) -> float:
    """Link accuracy of weights that are given for each pair of lengths, in words."""
    hits, totals = 0, 0
    for example in examples:
        found, total = link_counts(weights(max(example.target_words) + 1, max(example.source_words) + 1), example.links)
        hits, totals = hits + int(found[0]), totals + total
    return hits / max(1, totals)


def chance(examples: Sequence[Aligned]) -> float:
    """The link accuracy to expect of source words drawn at random."""
    shares, totals = 0.0, 0
    for example in examples:
        linked = len({target for _, target in example.links})
        shares += linked * uniform_accuracy(example.links, max(example.target_words) + 1, max(example.source_words) + 1)
        totals += linked
    return shares / max(1, totals)
