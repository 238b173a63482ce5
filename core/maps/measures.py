"""What can be said of any map, whatever its task: how spread it is, how much goes to marks, how much it covers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from core.maps.attention_map import AttentionMap
from core.maps.scores import entropy

Heads = Float[np.ndarray, " H"]


def special_share(weights: Float[np.ndarray, "H Q K"], special: Bool[np.ndarray, " K"]) -> Heads:
    """The share of each head's weight that goes to keys that are no text, such as an end mark; NaN without weight."""
    return _share(weights[..., special].sum(axis=(-2, -1)), weights.sum(axis=(-2, -1)))


def coverage(weights: Float[np.ndarray, "H Q K"], special: Bool[np.ndarray, " K"]) -> Heads:
    """How much of the keys each head has looked at: the weight that a key got from all queries together, at most 1, as
    a mean over the keys that are not special (Wu et al. 2016, equation 14, counts so). NaN where all are special."""
    got = np.minimum(weights.sum(axis=-2)[..., ~special], 1.0).sum(axis=-1)
    return _share(got, np.full(len(weights), float((~special).sum())))


def measures(map: AttentionMap) -> dict[str, Heads]:
    """Every measure of a map, a number a head."""
    special = np.array(map.special)
    return {
        "entropy": entropy(map.weights),
        "on special keys": special_share(map.weights, special),
        "coverage": coverage(map.weights, special),
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


def _share(part: Heads, whole: Heads) -> Heads:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), np.nan)
