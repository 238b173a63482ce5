"""The best summary that sentences of the article can make, found greedily with the reference in view (Nallapati et al.
2017, section 3): labels where a set has only abstracts, and the upper row beside every score."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from rich.console import Console
from rich.progress import track

from core.files import whole_file
from tasks.summarization.budget import Budget

Words = Sequence[str]
VERSION = 1
"""Of what `greedy` finds; a cache of another version is not read."""


Fits = Callable[[Sequence[int], int, Sequence[int]], bool]
"""Whether a sentence may be added to those chosen, as `Budget.fits`."""


class Overlap:
    """Word sequences of length n that sentences share with a reference."""

    def __init__(self, sentences: Sequence[Words], reference: Words, n: int) -> None:
        wanted = Counter(grams(reference, n))
        columns = {gram: column for column, gram in enumerate(wanted)}
        self.wanted: Int[np.ndarray, " G"] = np.array(list(wanted.values()), dtype=np.int64)
        self.held: Int[np.ndarray, "S G"] = np.zeros((len(sentences), len(columns)), dtype=np.int64)
        self.lengths: Int[np.ndarray, " S"] = np.array([max(0, len(words) - n + 1) for words in sentences])
        for row, words in enumerate(sentences):
            for gram in grams(words, n):
                if gram in columns:
                    self.held[row, columns[gram]] += 1

    def with_each(self, chosen: Sequence[int]) -> Float[np.ndarray, " S"]:
        """The F1 of what is chosen with each sentence added to it."""
        held = self.held + self.held[list(chosen)].sum(axis=0)
        lengths = self.lengths + self.lengths[list(chosen)].sum()
        hits = np.minimum(held, self.wanted).sum(axis=1)
        return 2 * hits / np.maximum(1, lengths + self.wanted.sum())


def grams(words: Words, n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(n)), strict=False))


def greedy(
    sentences: Sequence[Words], reference: Words, *, orders: Sequence[int] = (1, 2), fits: Fits | None = None
) -> list[int]:
    """The sentence that helps most, again and again, as long as one helps; numbers in the document's order.

    What is to grow is the sum of the F1 of ROUGE-n over `orders`; of equal sentences the earlier is taken.
    """
    overlaps = [Overlap(sentences, reference, n) for n in orders]
    lengths = [len(words) for words in sentences]
    chosen: list[int] = []
    reached = 0.0
    while len(chosen) < len(sentences):
        gains = np.sum([overlap.with_each(chosen) for overlap in overlaps], axis=0)
        for each in range(len(sentences)):
            if each in chosen or (fits and not fits(chosen, each, lengths)):
                gains[each] = -1.0
        best = int(gains.argmax())
        if gains[best] <= reached + 1e-12:
            break
        chosen.append(best)
        reached = float(gains[best])
    return sorted(chosen)


def within(budget: Budget, sentences: Sequence[Words], reference: Words) -> list[int]:
    """The upper row: what a summary within the budget can reach in ROUGE-2; the first sentence where nothing helps."""
    return greedy(sentences, reference, orders=(2,), fits=budget.fits) or list(range(min(1, len(sentences))))


def labels(articles: Sequence[tuple[Sequence[Words], Words]], *, cache: Path | None = None) -> list[list[int]]:
    """The greedy choice for each article and its reference, with a bar to watch; found once, then read from the cache.

    The cache goes by everything that the choice depends on; a damaged one is made anew.
    """
    key = hashlib.sha256(json.dumps([VERSION, articles], ensure_ascii=False).encode()).hexdigest()[:24]
    path = (cache or cache_folder()) / f"oracle-{key}.json"
    if (found := read_cache(path, len(articles))) is not None:
        return found
    console = Console(stderr=True)
    bar = track(articles, "greedy ROUGE labels", console=console, transient=True, disable=not console.is_terminal)
    found = [greedy(*article) for article in bar]
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(json.dumps(found).encode())
    return found


def read_cache(path: Path, articles: int) -> list[list[int]] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    good = isinstance(found, list) and len(found) == articles and all(isinstance(each, list) for each in found)
    return found if good else None


def cache_folder() -> Path:
    """Where what took long is kept between runs: below XDG_CACHE_HOME, or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attention-gallery" / "summarization"
