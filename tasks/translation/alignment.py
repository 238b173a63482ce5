"""Who aligns with whom: the gaze of a translation model against true word links, between its controls."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from core.data import MapScores
from core.maps import AttentionMap
from core.maps.scores import at_offset, diagonal, error_counts, inside, link_counts, merge, uniform_accuracy
from core.metrics import Score
from core.text import word_of_piece, words
from tasks.translation.links import Linked, Span
from tasks.translation.word_aligner import WordAligner

OFFSETS = (0, 1)
"""Whether a word's partner is looked at by the step that predicts the word, or by the next one, is measured."""
ALL = "all layers"
CLEARLY = 0.05
"""By how much link accuracy is above its baseline where there is something to it."""
TENSION = 4.0
"""Of the diagonal in the second word aligner; where Dyer et al. 2013 start theirs."""

Weights = Float[np.ndarray, "H q k"]


class Reading(NamedTuple):
    """One way of reading an alignment off the gaze."""

    module: str
    head: str
    offset: int

    def __str__(self) -> str:
        step = "at the predicting step" if self.offset == 0 else "one step later"
        return f"{self.module}, {'mean of heads' if self.head == 'mean' else f'head {self.head}'}, {step}"


class Aligned(NamedTuple):
    """The maps of a linked sentence pair whose target was forced, and the words that their rows and columns are of."""

    maps: list[AttentionMap]
    columns: list[int]
    rows: list[int]
    """The number of the word that each piece is a part of; -1 for a piece of none, and for the end mark."""
    linked: Linked

    def readings(self) -> Iterator[tuple[Reading, Weights]]:
        """The weights between words of every head, of the mean of each module's heads, and of the mean of them all."""
        for offset in OFFSETS:
            for map in self.maps:
                merged = self.between_words(at_offset(map.weights, offset))
                for head, weights in enumerate(merged):
                    yield Reading(map.name, str(head), offset), weights[None]
                if len(merged) > 1:
                    yield Reading(map.name, "mean", offset), merged.mean(axis=0, keepdims=True)
            if len(self.maps) > 1:
                every = np.concatenate([at_offset(map.weights, offset) for map in self.maps])
                yield Reading(ALL, "mean", offset), self.between_words(every.mean(axis=0, keepdims=True))

    def between_words(self, weights: Float[np.ndarray, "H Q K"]) -> Weights:
        return padded(merge(weights, self.rows, self.columns), self.linked)


def aligned(
    maps: list[AttentionMap], source_pieces: Sequence[Span], target_pieces: Sequence[Span], linked: Linked
) -> Aligned:
    """Pieces, [start, end) in the text, by words; links of words that were cut off are not looked for."""
    columns, rows = word_of_piece(source_pieces, linked.source_spans), word_of_piece(target_pieces, linked.target_spans)
    return Aligned(maps, [*columns, -1], [*rows, -1], linked.within({*columns}, {*rows}))


class Tally(NamedTuple):
    """What the scores are made of, summed over sentences."""

    hits: float = 0
    linked: float = 0
    errors: float = 0
    """|A| + |S| - |A and S| - |A and P|, of which the alignment error rate is a share (Och and Ney 2003)."""
    links: float = 0
    """|A| + |S|."""
    mass: float = 0
    phrases: float = 0

    def __add__(self, other: Any) -> "Tally":
        return Tally(*(one + more for one, more in zip(self, other, strict=True)))

    def scores(self) -> dict[str, float]:
        """What can be said: link accuracy, alignment error rate, phrase mass."""
        shares = {
            "link accuracy": (self.hits, self.linked),
            "alignment error rate": (self.errors, self.links),
            "phrase mass": (self.mass, self.phrases),
        }
        return {name: part / whole for name, (part, whole) in shares.items() if whole}


def scores(
    choosing: Sequence[Aligned],
    scoring: Sequence[Aligned],
    posterior: Sequence[Aligned],
    pairs: Iterable[tuple[str, str]],
    *,
    chosen_on: str,
) -> MapScores:
    """Scores on `scoring` by the reading that was best on `choosing`, beside the plain mean and the controls.

    `posterior` is posterior attention on the examples of `scoring`, a map of one head each. `pairs` are the sentences
    that the model was trained on; the word aligners learn from the same.
    """
    tried, found = readings(choosing), readings(scoring)
    order = [reading for reading in tried if reading in found]
    best = max(order, key=lambda reading: quality(tried[reading]), default=None)
    if best is None:
        return MapScores({}, [])
    plain = max(averages(order), key=lambda reading: quality(tried[reading]))
    lines = {
        "": (found[best], f"{best}; the best of {len(order)} readings on {chosen_on}"),
        ", plain mean": (found[plain], str(plain)),
        ", posterior": (
            sum((tally(each.between_words(each.maps[0].weights), each.linked) for each in posterior), Tally()),
            "the look weighted by how well each key alone explains the output",
        ),
        **controls(scoring, pairs),
    }
    table = {
        f"{name}{row}": Score(value, how)
        for row, (tally, how) in lines.items()
        for name, value in tally.scores().items()
    }
    return MapScores(
        dict(sorted(table.items(), key=lambda item: item[0].partition(",")[0])),
        [
            {**reading._asdict(), "chosen_on": tried[reading].scores(), "test": found[reading].scores()}
            for reading in order
        ],
    )


def not_aligning(examples: Sequence[Aligned]) -> str | None:
    """The figures in words, where no reading is clearly above an even pace and chance."""
    best = max((quality(each) for each in readings(examples).values()), default=None)
    if best is None:
        return None
    baseline = max(quality(of_all(examples, even_pace)), quality(chance(examples)))
    if best > baseline + CLEARLY:
        return None
    return f"the best head finds {best:.0%} of true partners, and {baseline:.0%} are found without looking"


def quality(tally: Tally) -> float:
    """What the best reading has most of."""
    values = tally.scores()
    return values.get("link accuracy", values.get("phrase mass", 0.0))


def averages(order: Sequence[Reading]) -> list[Reading]:
    """The readings that choose nothing but a step: the mean of everything there is."""
    widest = [reading for reading in order if reading.module == ALL]
    return widest or [reading for reading in order if reading.head == "mean"] or list(order)


def readings(examples: Iterable[Aligned]) -> dict[Reading, Tally]:
    tallies: dict[Reading, Tally] = defaultdict(Tally)
    for example in examples:
        for reading, weights in example.readings():
            tallies[reading] += tally(weights, example.linked)
    return tallies


def controls(examples: Sequence[Aligned], pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[Tally, str]]:
    """What needs no translation model: chance, an even pace, and word aligners."""
    split = [(in_words(source), in_words(target)) for source, target in pairs]
    model_1, with_diagonal = WordAligner().fit(split), WordAligner(tension=TENSION).fit(split)
    return {
        ", diagonal": (of_all(examples, even_pace), "baseline: reading at an even pace"),
        ", uniform": (chance(examples), "baseline: looking anywhere"),
        ", word aligner": (of_all(examples, by(model_1)), "control: IBM Model 1, trained on the same pairs"),
        ", word aligner with diagonal": (
            of_all(examples, by(with_diagonal)),
            "control: Model 1 with a prior for the diagonal",
        ),
    }


def of_all(examples: Iterable[Aligned], method: Callable[[Linked], Weights]) -> Tally:
    return sum((tally(method(example.linked), example.linked) for example in examples), Tally())


def tally(weights: Float[np.ndarray, "1 q k"], linked: Linked) -> Tally:
    row = linked.row
    (hits,), total = link_counts(weights, [*row.sure, *row.possible])
    (errors,), (links,) = error_counts(weights, row.sure, row.possible) if row.complete else ((0,), (0,))
    mass = sum(float(inside(weights, phrase.target, phrase.source)[0]) for phrase in row.phrases)
    return Tally(float(hits), total, float(errors), float(links), mass, len(row.phrases))


def even_pace(linked: Linked) -> Weights:
    return diagonal(len(linked.target_spans), len(linked.source_spans))


def chance(examples: Iterable[Aligned]) -> Tally:
    """The tally to expect of source words drawn at random."""
    total = Tally()
    for example in examples:
        row, targets, sources = example.linked.row, len(example.linked.target_spans), len(example.linked.source_spans)
        links = [*row.sure, *row.possible]
        linked = len({target for _, target in links})
        hits = linked * uniform_accuracy(links, targets, sources) if linked else 0.0
        mass = sum((phrase.source[1] - phrase.source[0]) / sources for phrase in row.phrases)
        total += Tally(hits=hits, linked=linked, mass=mass, phrases=len(row.phrases))
    return total


def by(aligner: WordAligner) -> Callable[[Linked], Weights]:
    """The weights that a word aligner gives between the words of a row, by way of its own words."""

    def weights(linked: Linked) -> Weights:
        found = aligner.weights(in_words(linked.source), in_words(linked.target))
        rows = word_of_piece(words(linked.target), linked.target_spans)
        columns = word_of_piece(words(linked.source), linked.source_spans)
        return padded(merge(found, rows, columns), linked)

    return weights


def in_words(text: str) -> list[str]:
    return [text[start:end] for start, end in words(text)]


def padded(weights: Float[np.ndarray, "H _ _"], linked: Linked) -> Float[np.ndarray, "H _ _"]:
    """Zeros for words at the end of which no piece is left, because the sentence was cut."""
    queries, keys = weights.shape[1:]
    more = (0, len(linked.target_spans) - queries), (0, len(linked.source_spans) - keys)
    return np.pad(weights, ((0, 0), *more))
