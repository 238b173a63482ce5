"""Where a summarizer looks, as maps, and whether that is where the summary comes from."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float

from core.data import MapScores
from core.maps import AttentionMap
from core.maps.bootstrap import bootstrap_interval
from core.maps.evidence import average_precision, random_average_precision
from core.metrics import Score
from tasks.summarization.examples import Article, Example
from tasks.summarization.sentences import terms

SENTENCES, WORDS = "sentences", "words"
MEAN = "mean of heads"
Ways = dict[str, list[float]]


def maps(example: Example, weights: dict[str, np.ndarray], max_words: int) -> list[AttentionMap]:
    found = []
    for name, array in sorted(weights.items(), key=lambda each: each[0].startswith("words")):
        if name.startswith("words"):
            found += [words_map(example, array, name, max_words)] if example.labels else []
        else:
            found.append(sentences_map(example, array, name))
    return found


def sentences_map(example: Example, weights: Float[np.ndarray, "... 1 S"], name: str) -> AttentionMap:
    """One row, the document, over its sentences."""
    article = example.article
    return AttentionMap(
        weights=weights[..., : len(article.words)],
        queries=["the document"],
        keys=[article.sentence(number) for number in range(len(article.words))],
        name=name,
        text=texts(example),
        origin={"task": "summarization", "rows": "the document", "columns": SENTENCES},
    )


def words_map(example: Example, weights: Float[np.ndarray, "S 1 T"], name: str, max_words: int) -> AttentionMap:
    """The sentences of the summary, each over its own words, as they are pooled."""
    article, chosen = example.article, example.labels
    words = [article.words[each][:max_words] for each in chosen]
    joint = np.zeros((len(chosen), sum(map(len, words))))
    at = 0
    for row, (number, said) in enumerate(zip(chosen, words, strict=True)):
        joint[row, at : at + len(said)] = weights[number, 0, : len(said)]
        at += len(said)
    return AttentionMap(
        weights=joint,
        queries=[article.sentence(each) for each in chosen],
        keys=[word for said in words for word in said],
        name=name,
        text=texts(example),
        origin={"task": "summarization", "rows": "sentences of the summary", "columns": "their words"},
    )


def texts(example: Example) -> dict[str, str]:
    article = example.article
    found = {
        "source": article.text,
        "prediction": article.summary(example.labels),
        "reference": " ".join(example.reference.split()),
        "notice": "; ".join(example.notices),
    }
    return {kind: text for kind, text in found.items() if text}


def sentences_with(article: Article, word: str) -> list[int]:
    """Numbers of the sentences with these words in a row, regardless of case.

    Raises:
        ValueError: if no sentence has them.
    """
    wanted = tuple(terms(word))
    length = len(wanted)
    found = [
        number
        for number, words in enumerate(article.words)
        if length and any(words[at : at + length] == wanted for at in range(len(words) - length + 1))
    ]
    if not found:
        raise ValueError(f"no sentence of the text has {word!r}; a word of it takes away every sentence that has it")
    return found


def precisions(all_maps: Iterator[list[AttentionMap]], examples: Sequence[Example]) -> tuple[Ways, Ways]:
    """Of each example the average precision of each head and of their mean; and of an order that knows nothing, of the
    lead, and of the longest sentences first. Examples in which every sentence is labelled say nothing."""
    heads: Ways = {}
    beside: Ways = {"random": [], "lead": [], "longest first": []}
    for example, found in zip(examples, all_maps, strict=True):
        count = len(example.article.words)
        gazes = [each for each in found if each.origin["columns"] == SENTENCES]
        if not gazes or len(example.labels) == count:
            continue
        rows = gazes[0].weights[:, 0, :]
        looks = {f"head {number}": row for number, row in enumerate(rows)} if len(rows) > 1 else {}
        for name, row in (looks | {MEAN: rows.mean(axis=0)}).items():
            heads.setdefault(name, []).append(average_precision(row, example.labels))
        lengths = np.array([len(words) for words in example.article.words], dtype=float)
        beside["random"].append(random_average_precision(count, len(example.labels)))
        beside["lead"].append(average_precision(-np.arange(count, dtype=float), example.labels))
        beside["longest first"].append(average_precision(lengths, example.labels))
    return heads, beside


Maps = Callable[[Sequence[Example]], Iterator[list[AttentionMap]]]


def scores(maps: Maps, validation: Sequence[Example], test: Sequence[Example]) -> MapScores:
    """The average precision on test of the head, or the mean, that is best on validation; and what stands beside it."""
    choosing, _ = precisions(maps(validation), validation)
    scoring, beside = precisions(maps(test), test)
    if not choosing or not scoring:
        return MapScores({}, [])
    best = max(choosing, key=lambda name: float(np.mean(choosing[name])))
    low, high = bootstrap_interval(scoring[best])
    what = f"of the sentence gaze ({best}) against the labels; 95 % interval {low:.3f} to {high:.3f}"
    found = {"average precision": Score(float(np.mean(scoring[best])), what)}
    for name, values in beside.items():
        found[f"average precision, {name}"] = Score(float(np.mean(values)), "baseline of the sentence gaze")
    readings = [
        {"combined": name, "validation": float(np.mean(choosing[name])), "test": float(np.mean(scoring[name]))}
        for name in choosing
    ]
    return MapScores(found, readings)


def not_pointing(maps: Maps, examples: Sequence[Example]) -> str | None:
    heads, beside = precisions(maps(examples), examples)
    if not heads:
        return None
    best = max(float(np.mean(values)) for values in heads.values())
    chance = float(np.mean(beside["random"]))
    if best > chance:
        return None
    return f"average precision {best:.3f} against the labels, {chance:.3f} by chance"
