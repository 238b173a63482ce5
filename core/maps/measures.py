"""What can be said of any map, whatever its task: how spread it is, how much goes to marks, how much it covers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from core.maps.attention_map import AttentionMap
from core.maps.scores import coverage, entropy, special_share

Heads = Float[np.ndarray, " H"]


def measures(map: AttentionMap) -> dict[str, Heads]:
    """Every measure of a map, a number a head."""
    return {
        "entropy": entropy(map.weights),
        "on special keys": special_share(map.weights, map.special),
        "coverage": coverage(map.weights, map.special),
    }


def measured(map: AttentionMap) -> AttentionMap:
    """The map with the mean over its heads of each measure beside its scores."""
    found = {name: float(np.mean(values)) for name, values in measures(map).items()}
    return replace(map, scores=map.scores | {name: value for name, value in found.items() if not np.isnan(value)})


def table(maps_by_example: Sequence[Sequence[AttentionMap]]) -> list[dict[str, object]]:
    """A row for each head of each module: its measures as means over examples, those without a value left out."""
    rows: dict[tuple[str, int], dict[str, list[float]]] = {}
    for map in (map for maps in maps_by_example for map in maps):
        for name, values in measures(map).items():
            for head, value in enumerate(values):
                columns = rows.setdefault((map.name, head), {})
                columns.setdefault(name, []).extend([] if np.isnan(value) else [float(value)])
    return [
        {"module": module, "head": head, **{name: float(np.mean(each)) for name, each in columns.items() if each}}
        for (module, head), columns in rows.items()
    ]
