"""Which head looks for what followed the last time? The induction score of each head, and the best head by its name."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from core.data import MapScores
from core.maps import AttentionMap
from core.metrics import Score
from tasks.generation.examples import Link

INDUCTION, PREVIOUS = "induction", "previous token"


class Looks(NamedTuple):
    """Sums over the places that were asked about, of one head or of what a head without knowledge would have."""

    mass: float
    hits: int
    places: int

    def __add__(self, other: "Looks") -> "Looks":  # type: ignore[override]
        return Looks(self.mass + other.mass, self.hits + other.hits, self.places + other.places)


NONE = Looks(0.0, 0, 0)
Heads = dict[tuple[str, int], Looks]


def on_links(map: AttentionMap, links: Sequence[Link]) -> list[Looks]:
    """For each head its weight on the places that decide, and how often it looks most at one of them."""
    found = [NONE] * len(map.weights)
    for link in links:
        row = map.weights[:, link.query]
        mass, hit = row[:, list(link.keys)].sum(axis=-1), np.isin(row.argmax(axis=-1), link.keys)
        found = [each + Looks(float(m), int(h), 1) for each, m, h in zip(found, mass, hit, strict=True)]
    return found


def by_chance(links: Iterable[Link]) -> float:
    """The weight to expect where a head looks at everything it may see alike."""
    shares = [len(link.keys) / (link.query + 1) for link in links]
    return float(np.mean(shares)) if shares else 0.0


def before(links: Iterable[Link]) -> list[Link]:
    """The same places, with the token just before each as the one to look at."""
    return [Link(link.query, (link.query - 1,), PREVIOUS) for link in links if link.query]


def of_heads(maps_by_example: Iterable[Sequence[AttentionMap]], links: Iterable[Sequence[Link]]) -> Heads:
    """Sums over examples, for each head of each module."""
    heads: Heads = defaultdict(lambda: NONE)
    for maps, each in zip(maps_by_example, links, strict=True):
        for map in maps:
            for number, looks in enumerate(on_links(map, each)):
                heads[map.name, number] += looks
    return heads


def best(heads: Heads) -> tuple[str, int]:
    return max(heads, key=lambda head: heads[head].mass / max(1, heads[head].places))


def named(head: tuple[str, int]) -> str:
    """ "layer 2 head 3", both counted from 1."""
    module, number = head
    layer = re.search(r"\d+", module)
    return f"layer {int(layer.group()) + 1 if layer else module} head {number + 1}"


def scores(
    choosing: Sequence[tuple[Sequence[AttentionMap], Sequence[Link]]],
    scoring: Sequence[tuple[Sequence[AttentionMap], Sequence[Link]]],
    where: str,
) -> MapScores:
    """The heads with the most weight on what followed earlier, and on the token before: chosen on one set of maps,
    scored on another; and a table of every head."""
    found: dict[str, Score] = {}
    rows: dict[tuple[str, int], dict[str, Any]] = defaultdict(dict)
    for name, wanted, what in (
        (INDUCTION, list, "on the token after the earlier occurrence of the one just read"),
        (PREVIOUS, before, "on the token before the one just read"),
    ):
        chosen = of_heads((maps for maps, _ in choosing), [wanted(links) for _, links in choosing])
        scored = of_heads((maps for maps, _ in scoring), [wanted(links) for _, links in scoring])
        if not any(looks.places for looks in scored.values()):
            continue
        head, links = best(chosen), [link for _, links in scoring for link in wanted(links)]
        looks = scored[head]
        found[f"{name} score"] = Score(
            looks.mass / looks.places, f"{named(head)}: weight {what}, {where}; {looks.places:,} places"
        )
        found[f"{name} score, chance"] = Score(by_chance(links), "looking at everything before it alike")
        found[f"{name} hits"] = Score(looks.hits / looks.places, f"{named(head)}: how often it looks most there")
        for each, one in scored.items():
            rows[each] |= {name: one.mass / one.places, f"{name} hits": one.hits / one.places}
    return MapScores(found, [{"head": named(each), "module": each[0], **row} for each, row in rows.items()])


def not_found(heads: Heads, links: Sequence[Link]) -> str | None:
    """In words, where no head looks at what followed earlier twice as much as chance would."""
    head, chance = best(heads), by_chance(links)
    score = heads[head].mass / max(1, heads[head].places)
    if score >= 2 * chance:
        return None
    return f"the best induction score is {score:.3f}, of {named(head)}; looking everywhere alike has {chance:.3f}"
