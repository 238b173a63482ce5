"""Does a phrase look at what it names? The gaze of a captioner in the pointing game, between its baselines."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from core.data import MapScores
from core.maps import AttentionMap
from core.maps.pointing import Box, centre, covered, pointing_hits, small, uniform
from core.metrics import Score

OFFSETS = (0, 1)
"""Whether a word's thing is looked at by the step that predicts the word, or by the next one, is measured."""
COMBINED = ("mean of words", "last word", "first word")
"""How one look is made of those of a phrase's words; in English the last word is the noun, the first often an article,
at which it is decided what to speak of."""
CLEARLY = 0.05
"""By how much pointing is above its baselines where there is something to it."""


class Phrase(NamedTuple):
    """Words [start, end) of a caption, and the boxes of what they name."""

    start: int
    end: int
    boxes: tuple[Box, ...]


class Grounded(NamedTuple):
    """A caption, some phrases of which have boxes in the picture."""

    photo: str
    words: tuple[str, ...]
    phrases: tuple[Phrase, ...]


class Looked(NamedTuple):
    """Where the gaze was while a caption was forced."""

    maps: list[Float[np.ndarray, "H Q K"]]
    names: list[str]
    phrases: tuple[Phrase, ...]


class Reading(NamedTuple):
    """One way of reading off the gaze where a phrase points."""

    module: str
    head: str
    offset: int
    combined: str

    def __str__(self) -> str:
        step = "at the predicting step" if self.offset == 0 else "one step later"
        head = "mean of heads" if self.head == "mean" else f"head {self.head}"
        return f"{self.module}, {head}, {step}, {self.combined}"


class Tally(NamedTuple):
    """Sums over phrases."""

    hits: float = 0
    mass: float = 0
    phrases: float = 0
    small_hits: float = 0
    small_mass: float = 0
    small: float = 0

    def __add__(self, other: Any) -> "Tally":
        return Tally(*(one + more for one, more in zip(self, other, strict=True)))

    def scores(self) -> dict[str, float]:
        parts = {
            "pointing": (self.hits, self.phrases),
            "pointing, small boxes": (self.small_hits, self.small),
            "mass inside": (self.mass, self.phrases),
            "mass inside, small boxes": (self.small_mass, self.small),
        }
        return {name: part / whole for name, (part, whole) in parts.items() if whole}


def looked(caption: Grounded, maps: Sequence[AttentionMap]) -> Looked:
    """Phrases of words that were cut off are not looked for."""
    rows = maps[0].weights.shape[1]
    phrases = tuple(phrase for phrase in caption.phrases if phrase.end < rows)
    return Looked([map.weights for map in maps], [map.name for map in maps], phrases)


def scores(choosing: Sequence[Looked], scoring: Sequence[Looked], grid: tuple[int, int]) -> MapScores:
    """Scores on `scoring` by the reading that was best on `choosing`, beside what needs no model."""
    tried, found = readings(choosing, grid), readings(scoring, grid)
    order = [reading for reading in tried if reading in found]
    best = max(order, key=lambda reading: quality(tried[reading]), default=None)
    if best is None:
        return MapScores({}, [])
    lines = {
        "": (found[best], f"{best}; the best of {len(order)} readings on validation"),
        ", centre": (middle(scoring), "baseline: the middle of the picture"),
        ", uniform": (anywhere(scoring), "baseline: anywhere in the picture"),
    }
    table = {
        f"{name}{row}": Score(value, f"{how}; {int(tally.small if 'small' in name else tally.phrases):,} phrases")
        for row, (tally, how) in lines.items()
        for name, value in tally.scores().items()
        if not (row == ", centre" and name.startswith("mass"))
    }
    names = {name: place for place, name in enumerate(Tally(1, 1, 1, 1, 1, 1).scores())}
    ordered = sorted(table.items(), key=lambda item: max(names[name] for name in names if item[0].startswith(name)))
    return MapScores(
        dict(ordered),
        [
            {**reading._asdict(), "chosen_on": tried[reading].scores(), "test": found[reading].scores()}
            for reading in order
        ],
    )


def not_pointing(examples: Sequence[Looked], grid: tuple[int, int]) -> str | None:
    """The figures in words, where no reading is clearly above the middle of the picture and chance."""
    best = max((quality(each) for each in readings(examples, grid).values()), default=None)
    if best is None:
        return None
    baseline = max(quality(middle(examples)), quality(anywhere(examples)))
    if best > baseline + CLEARLY:
        return None
    return f"the best head points into {best:.0%} of boxes, and {baseline:.0%} are found without looking"


def quality(tally: Tally) -> float:
    """What the best reading has most of: small things, if there are any, for large ones are hit by luck."""
    values = tally.scores()
    return values.get("pointing, small boxes", values.get("pointing", 0.0))


def readings(examples: Sequence[Looked], grid: tuple[int, int]) -> dict[Reading, Tally]:
    tallies: dict[Reading, Tally] = defaultdict(Tally)
    for example in examples:
        boxes = {number: phrase.boxes for number, phrase in enumerate(example.phrases)}
        if not boxes:
            continue
        inside = np.stack([covered(grid, things).ravel() for things in boxes.values()])
        for reading, weights in rows_of(example):
            tallies[reading] += tally(weights, grid, boxes, inside)
    return tallies


def rows_of(example: Looked) -> Iterator[tuple[Reading, Float[np.ndarray, "P K"]]]:
    """A row a phrase, for every way of reading the gaze."""
    for offset in OFFSETS:
        for name, weights in zip(example.names, example.maps, strict=True):
            heads = {str(number): head for number, head in enumerate(weights)}
            if len(weights) > 1:
                heads["mean"] = weights.mean(axis=0)
            for head, rows in heads.items():
                for combined in COMBINED:
                    found = [row_of(rows, phrase, offset, combined) for phrase in example.phrases]
                    yield Reading(name, head, offset, combined), np.stack(found)


def row_of(rows: Float[np.ndarray, "Q K"], phrase: Phrase, offset: int, combined: str) -> Float[np.ndarray, " K"]:
    start = phrase.end - 1 if combined == "last word" else phrase.start
    end = phrase.start + 1 if combined == "first word" else phrase.end
    return rows[start + offset : end + offset].mean(axis=0)


def tally(
    weights: Float[np.ndarray, "P K"],
    grid: tuple[int, int],
    boxes: dict[int, tuple[Box, ...]],
    inside: Float[np.ndarray, "P K"],
) -> Tally:
    few = small(boxes)
    mass = (weights * inside).sum(axis=-1)
    hits, phrases = pointing_hits(weights, grid, boxes)
    small_hits, small_phrases = pointing_hits(weights, grid, few)
    return Tally(hits, float(mass.sum()), phrases, small_hits, float(mass[[*few]].sum()), small_phrases)


def middle(examples: Sequence[Looked]) -> Tally:
    total = Tally()
    for boxes in map(boxes_of, examples):
        few = small(boxes)
        total += Tally(centre(boxes)[0], 0, len(boxes), centre(few)[0], 0, len(few))
    return total


def anywhere(examples: Sequence[Looked]) -> Tally:
    total = Tally()
    for boxes in map(boxes_of, examples):
        few = small(boxes)
        all_areas, small_areas = uniform(boxes)[0], uniform(few)[0]
        total += Tally(all_areas, all_areas, len(boxes), small_areas, small_areas, len(few))
    return total


def boxes_of(example: Looked) -> dict[int, tuple[Box, ...]]:
    return {number: phrase.boxes for number, phrase in enumerate(example.phrases)}
