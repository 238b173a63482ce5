"""What a summary is worth, beside summaries that cost nothing and the best one there is."""

from collections.abc import Callable, Sequence

import numpy as np

from core.maps.bootstrap import bootstrap_interval
from core.metrics import Score
from tasks.summarization import oracle
from tasks.summarization.budget import Budget, select
from tasks.summarization.examples import Example
from tasks.summarization.rouge import KINDS, rouge, signature
from tasks.summarization.sentences import terms

DRAWS = 2
"""How many random summaries of each article there are."""
NAMES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}
Row = dict[str, list[float]]
"""F1 of each article, by kind of ROUGE."""
LEAST_GAP = 0.01
"""Below this the oracle is no better than the lead, and there is no gap to close."""


class Rows:
    """The rows beside a model's, found once: they stay the same all through a training."""

    def __init__(self) -> None:
        self.found: dict[object, Row] = {}

    def __call__(self, name: str, budget: Budget, examples: Sequence[Example]) -> Row:
        rows = [self.one(name, budget, each) for each in examples]
        return {kind: [row[kind][0] for row in rows] for kind in KINDS}

    def one(self, name: str, budget: Budget, example: Example) -> Row:
        key = (name, budget, example.article.text, example.reference)
        if key not in self.found:
            chosen = ROWS[name](example, budget)
            row = rouge([example.article.lines(each) for each in chosen], [example.reference] * len(chosen))
            self.found[key] = {kind: [float(np.mean(values))] for kind, values in row.items()}
        return self.found[key]


def lead(example: Example, budget: Budget) -> list[list[int]]:
    """The first sentences that fit."""
    return [select(-np.arange(len(example.article.words), dtype=float), example.article.words, budget)]


def random(example: Example, budget: Budget) -> list[list[int]]:
    """Any sentences that fit, several times; the same ones for the same article length, always."""
    count = len(example.article.words)
    draws = np.random.default_rng(count).random((DRAWS, count))
    return [select(draw, example.article.words, budget) for draw in draws]


def best(example: Example, budget: Budget) -> list[list[int]]:
    """The greedy choice with the reference in view."""
    return [oracle.within(budget, example.article.words, terms(example.reference))]


ROWS: dict[str, Callable[[Example, Budget], list[list[int]]]] = {"lead": lead, "random": random, "oracle": best}


def summary_scores(rows: Rows, examples: Sequence[Example], chosen: Sequence[Sequence[int]], budget: Budget) -> dict:
    """ROUGE of the summaries and of the rows beside them, and how much of the way from lead to oracle they went."""
    own = rouge(
        [each.article.lines(some) for each, some in zip(examples, chosen, strict=True)],
        [each.reference for each in examples],
    )
    beside = {name: rows(name, budget, examples) for name in ROWS}
    found: dict[str, Score] = {}
    for kind, name in NAMES.items():
        low, high = bootstrap_interval(own[kind])
        what = f"{signature(kind)}; {budget}; 95 % interval {low:.2f} to {high:.2f}"
        found[name] = Score(mean(own[kind]), what)
        found |= {f"{name}, {row}": Score(mean(beside[row][kind]), meaning) for row, meaning in MEANINGS.items()}
    gap = share_of_gap(own["rouge2"], beside["lead"]["rouge2"], beside["oracle"]["rouge2"])
    return found if gap is None else found | {"gap closed": Score(gap, f"{GAP}; {budget}")}


MEANINGS = {
    "lead": "the first sentences, same budget",
    "random": f"any sentences, same budget, mean of {DRAWS} draws",
    "oracle": "chosen greedily by ROUGE-2 with the reference in view, same budget",
}
GAP = "share of the way from lead to oracle, ROUGE-2: 0 is no better than the first sentences, 1 as good as the oracle"


def at_label_count(
    rows: Rows, examples: Sequence[Example], logits: Sequence[np.ndarray], *, block_trigrams: bool
) -> dict[str, Score]:
    """ROUGE-2 with as many sentences as are labelled in each article, which no summarizer could know."""
    budgets = [Budget(sentences=max(1, len(each.labels))) for each in examples]
    tasks = list(zip(examples, budgets, logits, strict=True))
    chosen = [
        select(own, each.article.words, budget, block_trigrams=block_trigrams) if len(own) else []
        for each, budget, own in tasks
    ]
    summaries = [each.article.lines(some) for each, some in zip(examples, chosen, strict=True)]
    own = rouge(summaries, [each.reference for each in examples], ["rouge2"])["rouge2"]
    first, most = ([rows.one(name, b, e)["rouge2"][0] for e, b, _ in tasks] for name in ("lead", "oracle"))
    leak = "with the labels' number of sentences, which is a leak"
    found = {"ROUGE-2, labels' count": Score(mean(own), f"{leak}; lead {mean(first):.2f}, oracle {mean(most):.2f}")}
    gap = share_of_gap(own, first, most)
    return found if gap is None else found | {"gap closed, labels' count": Score(gap, leak)}


def agreement(examples: Sequence[Example], chosen: Sequence[Sequence[int]]) -> dict[str, Score]:
    """How many of the chosen sentences are labelled, beside how many of all are."""
    pairs = [(each, some) for each, some in zip(examples, chosen, strict=True) if some]
    hits = [len(set(some) & set(each.labels)) / len(some) for each, some in pairs]
    chance = [len(each.labels) / len(each.article.words) for each, _ in pairs]
    return {"chosen and labelled": Score(mean(hits), f"share of the chosen sentences; of all, {mean(chance):.3f}")}


def share_of_gap(own: Sequence[float], low: Sequence[float], high: Sequence[float]) -> float | None:
    gap = mean(high) - mean(low)
    return (mean(own) - mean(low)) / gap if gap > LEAST_GAP else None


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0
