"""Does the question look at the sentence that holds the answer? And what finds answers without learning anything."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.maps import AttentionMap
from core.maps.bootstrap import bootstrap_interval
from core.maps.evidence import mass_on, uniform_mass
from core.metrics import Score
from core.sentences import Span
from tasks.qa.labels import TO_PASSAGE, sentence_keys
from tasks.qa.scores import answer_scores
from tasks.qa.sentences import sentences
from tasks.qa.sliding_window import answer_by_sliding_window, most_alike_sentence

if TYPE_CHECKING:
    from tasks.qa.data import Example

Maps = Callable[[Sequence["Example"]], Iterator[list[AttentionMap]]]
MOST = 1000
"""How many test questions the looks are measured on."""
ALARM = 50
CLEARLY = 0.05


def scores(maps: Maps, test: Sequence["Example"]) -> dict[str, Score]:
    """The mass of the question's look on the answer's sentence beside its share of the passage; and the sliding
    window's answers to all test questions."""
    found = masses(maps, test[:MOST])
    table: dict[str, Score] = {}
    if found:
        how = f"{len(found):,} questions, the right answer's sentence"
        for name, values, what in (
            ("evidence mass", [each[0] for each in found], f"of the question's look at the passage; {how}"),
            ("evidence mass, uniform", [each[1] for each in found], "baseline: the sentence's share of the words"),
            ("evidence mass, most alike", [each[2] for each in found], "baseline: the sentence most like the question"),
        ):
            low, high = bootstrap_interval(values)
            table[name] = Score(float(np.mean(values)), f"{what}; 95 % interval {low:.3f} to {high:.3f}")
    if test:
        said = [answer_by_sliding_window(example) for example in test]
        plain = answer_scores(said, [example.answers for example in test])
        for name, score in plain.items():
            table[f"{name}, sliding window"] = Score(score.value, "baseline: the words around most of the question's")
    return table


def masses(maps: Maps, examples: Sequence["Example"]) -> list[tuple[float, float, float]]:
    """For each question with an answer: mass on its sentence, the sentence's share of the words, and whether it is the
    sentence that shares most with the question."""
    asked, keys = [], []
    for example in examples:
        sentence = answer_sentence(example)
        window = example.windows[example.focus]
        span = sentence_keys(example.passage.spans, window, sentence) if sentence else None
        if span and example.question.spans:
            asked.append(example._replace(windows=[window], focus=0))
            keys.append(span)
    found = []
    for example, span, shown in zip(asked, keys, maps(asked), strict=True):
        look = next((map for map in shown if map.name == TO_PASSAGE), None)
        if look is None:
            continue
        mass = float(mass_on(look.weights, [span]).mean())
        chance = uniform_mass([span], look.weights.shape[-1])
        guess = sentence_keys(example.passage.spans, example.windows[0], most_alike_sentence(example))
        found.append((mass, chance, float(guess == span)))
    return found


def answer_sentence(example: "Example") -> Span | None:
    """The sentence that the first answer begins in."""
    if not example.places:
        return None
    start = example.places[0][0]
    return next((span for span in sentences(example.passage.text) if span[0] <= start < span[1]), None)


def not_aligning(maps: Maps, examples: Sequence["Example"]) -> str | None:
    """The figures in words, where the look is no more on the answer's sentence than its length would have it."""
    found = masses(maps, examples[:ALARM])
    if not found:
        return None
    mass, chance, _ = np.mean(found, axis=0)
    if mass > chance + CLEARLY:
        return None
    return f"{mass:.0%} of the question's look is on the answer's sentence, which is {chance:.0%} of the words"
