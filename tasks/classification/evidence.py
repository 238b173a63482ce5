"""Is the gaze on the words that decide? Beside it leave-one-out, and weights that know nothing."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from core.data import MapScores
from core.maps import AttentionMap
from core.maps.bootstrap import bootstrap_interval
from core.maps.evidence import average_precision, mass_on, random_average_precision, uniform_mass
from core.metrics import Score
from tasks.classification.model import LEAVE_ONE_OUT


class Deciding(NamedTuple):
    """A text and the words that decide its label, by their places."""

    text: str
    label: str
    places: tuple[int, ...]


class Found(NamedTuple):
    """Of one map: the weight on deciding words, whether the most attended word is one, how early they come."""

    mass: float
    hit: bool
    precision: float


def scores(known: Sequence[Deciding], maps: Iterable[Sequence[AttentionMap]]) -> MapScores:
    """The share of the weight on deciding words, how often the word with the most weight is one, and the average
    precision of the words ranked by weight; of the gaze (the mean of its heads), of leave-one-out, and of chance."""
    pairs = [(each, found) for each, found in zip(known, maps, strict=True) if found]
    if not pairs:
        return MapScores({}, [])
    ways: dict[str, list[Found]] = {}
    for each, found in pairs:
        for map in found:
            way = ", leave-one-out" if map.name == LEAVE_ONE_OUT else ""
            ways.setdefault(way, []).append(on_words(map, each.places))
    shares = [uniform_mass(spans(each.places), len(found[0].keys)) for each, found in pairs]
    ranks = [random_average_precision(len(found[0].keys), len(each.places)) for each, found in pairs]
    told: dict[str, Score] = {}
    for way, found in sorted(ways.items()):
        told[f"mass on deciding words{way}"] = score([each.mass for each in found], "share of the weight")
        told[f"deciding word first{way}"] = score([each.hit for each in found], "the word with the most weight decides")
        told[f"average precision{way}"] = score([each.precision for each in found], "of words ranked by weight")
    told["mass on deciding words, uniform"] = score(shares, "even weights; also how often a random word decides")
    told["average precision, random"] = score(ranks, "any order")
    return MapScores(told, [])


def on_words(map: AttentionMap, places: Sequence[int]) -> Found:
    weights = map.mean().weights[0]
    mass = float(np.nan_to_num(mass_on(weights[None], spans(places))[0]))
    hit = bool(weights[0].any()) and int(weights[0].argmax()) in places
    return Found(mass, hit, average_precision(weights[0], places))


def not_on_words(known: Sequence[Deciding], maps: Iterable[Sequence[AttentionMap]]) -> str | None:
    """What to say where the gaze has no more weight on deciding words than even weights have."""
    found = scores(known, maps).scores
    if "mass on deciding words" not in found:
        return None
    mass, even = found["mass on deciding words"].value, found["mass on deciding words, uniform"].value
    return f"{mass:.2f} of its weight is on words that decide, even weights have {even:.2f}" if mass <= even else None


def spans(places: Sequence[int]) -> list[tuple[int, int]]:
    return [(place, place + 1) for place in places]


def score(values: Sequence[float], what: str) -> Score:
    low, high = bootstrap_interval([float(value) for value in values])
    return Score(float(np.mean(values)), f"{what}; 95 % interval {low:.3f} to {high:.3f}, {len(values)} texts")
