"""How much a summary may hold, and which sentences fill it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, kw_only=True)
class Budget:
    """A number of sentences, a share of those of the document (0.3 of 10 is 3, and never less than one), or words."""

    sentences: int | None = None
    share: float | None = None
    words: int | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        if len(given) != 1:
            raise ValueError(
                f"a budget is exactly one of sentences, share and words; got {given or 'none of them'}. "
                "To change it, set the other to null: data.share=null data.sentences=3"
            )
        if (self.sentences or self.words or 1) < 1 or 0 in (self.sentences, self.words):
            raise ValueError(f"a budget of sentences or words is at least 1; got {given}")
        if self.share is not None and not 0 < self.share <= 1:
            raise ValueError(f"a share of the sentences lies above 0 and is at most 1; got {self.share}")

    def __str__(self) -> str:
        if self.share is not None:
            return f"{self.share:.0%} of the sentences"
        return f"{self.words} words" if self.words else f"{self.sentences} sentence{'s' * (self.sentences != 1)}"

    def most(self, sentences: int) -> int:
        """How many of so many sentences fit at most; halves are rounded up."""
        if self.share is not None:
            return min(sentences, max(1, int(self.share * sentences + 0.5)))
        return min(sentences, self.sentences or sentences)

    def fits(self, chosen: Sequence[int], candidate: int, lengths: Sequence[int]) -> bool:
        """Whether one more sentence fits beside those that are chosen; `lengths` are in words."""
        if len(chosen) >= self.most(len(lengths)):
            return False
        return self.words is None or sum(lengths[each] for each in (*chosen, candidate)) <= self.words


def select(
    scores: Float[np.ndarray, " S"], sentences: Sequence[Sequence[str]], budget: Budget, *, block_trigrams: bool = False
) -> list[int]:
    """Numbers of the sentences with the highest scores that fit, in the document's order; of equal ones the earlier.

    With `block_trigrams` a sentence that has three words in a row that a chosen one has is passed over (Paulus et al.
    2018). Where no sentence fits into a budget of words, the best one is the summary all the same.
    """
    order = [int(each) for each in np.argsort(-np.asarray(scores), kind="stable")]
    lengths = [len(words) for words in sentences]
    chosen: list[int] = []
    said: set[tuple[str, ...]] = set()
    for candidate in order:
        grams = set(trigrams(sentences[candidate]))
        if budget.fits(chosen, candidate, lengths) and not (block_trigrams and grams & said):
            chosen.append(candidate)
            said |= grams
    return sorted(chosen or order[:1])


def trigrams(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(words, words[1:], words[2:], strict=False)
