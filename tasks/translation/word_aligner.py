"""A word aligner, the control beside attention: it sees the same sentence pairs, and has never translated a word."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

NULL = 0
"""The number of the source word that stands for no word."""
LEAST = 1e-9
"""The share of a pair of words that never met."""

Words = Sequence[str]


class WordAligner:
    """IBM Model 1 (Brown et al. 1993), and with `tension` the prior for the diagonal of Dyer et al. 2013 on top of it.

    A target word comes from one source word, or from none: p(target | source) of the pair of words, times
    exp(-tension |place in target - place in source|), places from 0 to 1, normalised over the source words. With a
    tension of 0 every place is as likely as any other, which is Model 1.
    """

    def __init__(self, *, tension: float = 0.0, rounds: int = 5, null: float = 0.08) -> None:
        if tension < 0 or rounds < 1 or not 0 < null < 1:
            raise ValueError(
                f"a word aligner takes a tension of 0 or more, 1 round or more, and a share of words without a partner "
                f"between 0 and 1; got {tension}, {rounds} and {null}"
            )
        self.tension, self.rounds, self.null = tension, rounds, null
        self.shares: dict[tuple[str, str], float] = {}
        """p(target word | source word); the source "" is none."""

    def fit(self, pairs: Sequence[tuple[Words, Words]]) -> "WordAligner":
        """Expectation and maximisation over pairs of a source and a target, both in words; case does not count."""
        meetings = meet([(fold(source), fold(target)) for source, target in pairs], self.prior)
        shares = np.ones(len(meetings.sources))
        for _ in range(self.rounds):
            expected = shares[meetings.kinds] * meetings.priors
            expected /= np.bincount(meetings.targets, expected)[meetings.targets]
            counts = np.bincount(meetings.kinds, expected, minlength=len(shares))
            shares = counts / np.bincount(meetings.sources, counts)[meetings.sources]
        self.shares = dict(zip(meetings.names, shares.tolist(), strict=True))
        return self

    def prior(self, source: int, target: int) -> Float[np.ndarray, "Q _"]:
        """How likely each source place is at each target place, before any word is seen; column 0 is none."""
        places = (np.arange(source) + 0.5) / max(1, source)
        paces = (np.arange(target) + 0.5) / max(1, target)
        near = np.exp(-self.tension * abs(paces[:, None] - places))
        near *= (1 - self.null) / np.maximum(near.sum(axis=1, keepdims=True), LEAST)
        return np.concatenate([np.full((target, 1), self.null), near], axis=1)

    def weights(self, source: Words, target: Words) -> Float[np.ndarray, "1 Q K"]:
        """For each target word the probability of each source word as its partner; what is missing to 1 is for none."""
        found = self.prior(len(source), len(target))
        for row, word in enumerate(fold(target)):
            found[row] *= [self.shares.get((other, word), LEAST) for other in ("", *fold(source))]
        return (found / found.sum(axis=1, keepdims=True))[None, :, 1:]


def fold(words: Iterable[str]) -> list[str]:
    return [word.casefold() for word in words]


class Meetings(NamedTuple):
    """Every target word with every source word of its sentence and with none, one after the other."""

    kinds: Int[np.ndarray, " meetings"]
    """The number of its pair of words."""
    targets: Int[np.ndarray, " meetings"]
    """The number of its target word in the corpus, counted through all sentences."""
    priors: Float[np.ndarray, " meetings"]
    sources: Int[np.ndarray, " kinds"]
    """The number of the source word of each pair of words."""
    names: list[tuple[str, str]]
    """Each pair of words."""


def meet(pairs: Sequence[tuple[Words, Words]], prior) -> Meetings:
    kinds: dict[tuple[str, str], int] = {}
    sources: dict[str, int] = {}
    met, targets, priors, count = [], [], [], 0
    for source, target in pairs:
        for word in target:
            met += [kinds.setdefault((other, word), len(kinds)) for other in ("", *source)]
        priors.append(prior(len(source), len(target)).ravel())
        targets.append(np.repeat(np.arange(count, count + len(target)), len(source) + 1))
        count += len(target)
    numbers = [sources.setdefault(source, len(sources)) for source, _ in kinds]
    return Meetings(
        np.array(met, dtype=np.int64),
        np.concatenate([*targets, np.zeros(0, dtype=np.int64)]),
        np.concatenate([*priors, np.zeros(0)]),
        np.array(numbers, dtype=np.int64),
        list(kinds),
    )
