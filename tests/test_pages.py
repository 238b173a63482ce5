"""Which maps of an example share a picture."""

import numpy as np

from core.maps import AttentionMap
from pages import with_the_same_labels


def test_maps_share_a_picture_where_their_labels_are_the_same():
    def made(name: str, queries: list[str], keys: list[str]) -> AttentionMap:
        weights = np.full((1, len(queries), len(keys)), 1 / len(keys), np.float32)
        return AttentionMap(weights=weights, queries=queries, keys=keys, name=name)

    maps = [made("a", ["x"], ["y", "z"]), made("b", ["y", "z"], ["x"]), made("c", ["x"], ["y", "z"])]
    assert [[map.name for map in group] for group in with_the_same_labels(maps)] == [["a", "c"], ["b"]]
    assert with_the_same_labels([]) == []
