"""Entropy, weight on marks, coverage: beside any map, and in a table of heads."""

from dataclasses import replace

import numpy as np
import pytest

from core.maps import AttentionMap
from core.maps.measures import measured, measures, table

WEIGHTS = np.array([[[0.5, 0.25, 0.25], [0.75, 0.0, 0.25]], [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]])


def two_heads() -> AttentionMap:
    return AttentionMap(WEIGHTS, queries=["x", "y"], keys=["a", "b", "end"], special=[False, False, True], name="gaze")


def test_a_map_carries_the_means_of_its_heads():
    found = measured(two_heads()).scores
    assert found["on special keys"] == pytest.approx(0.625) and found["coverage"] == pytest.approx(0.3125)
    assert found["entropy"] == pytest.approx(measures(two_heads())["entropy"].mean())
    blind = AttentionMap(np.zeros((1, 1)), queries=["x"], keys=["end"], special=[True])
    assert measured(blind).scores == {}


def test_a_table_of_heads_over_examples():
    other = replace(two_heads(), weights=WEIGHTS[::-1])
    rows = table([[two_heads()], [], [other]])
    assert [(row["module"], row["head"]) for row in rows] == [("gaze", 0), ("gaze", 1)]
    assert rows[0]["coverage"] == pytest.approx(0.3125) and rows[0]["on special keys"] == pytest.approx(0.625)
