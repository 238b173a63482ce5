"""What a word has in common with the other text, in numbers: exact match (Chen et al. 2017, section 3.2), and how much
of the other text stands near by (the sliding window of Richardson et al. 2013)."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int

FEATURES = (
    "same word",
    "same beginning",
    "rarity",
    "rarity where the beginning is the same",
    "share of the other text in this sentence",
    "sentence with the largest share",
    "share of the other text near by",
    "same pair of words",
    "share of its own text",
    "capital",
    "capitals only",
    "digit",
    "sign",
)
BEGINNING = 5
"""Letters that two forms of a word must share: "invent" and "invention", not "die" and "death"."""
NEAR = 6
"""Words to each side."""
Words = Sequence[str]


def features(
    own: Words, other: Words, sentence: Int[np.ndarray, " T"], rarity: Callable[[str], float]
) -> Float[np.ndarray, "T F"]:
    """A row for each word of `own`; `sentence` is the number of its sentence, `rarity(word)` lies between 0 and 1."""
    if not own:
        return np.zeros((0, len(FEATURES)), np.float32)
    folded, others = [word.casefold() for word in own], [word.casefold() for word in other]
    begun, beginnings = [word[:BEGINNING] for word in folded], [word[:BEGINNING] for word in others]
    asked, beginnings_asked = frozenset(others), frozenset(beginnings)
    same = np.array([word in asked for word in folded], dtype=np.float32)
    rare = np.array([rarity(word) for word in folded], dtype=np.float32)
    alike = np.array([word in beginnings_asked for word in begun], dtype=np.float32)
    weights: dict[str, float] = {}
    for word, beginning in zip(others, beginnings, strict=True):
        weights[beginning] = max(rarity(word), weights.get(beginning, 0.0))
    shares = in_sentences(begun, sentence, weights)
    near = np.convolve(rare * alike, np.ones(2 * NEAR + 1), mode="full")[NEAR : NEAR + len(own)]
    columns = [
        same,
        alike,
        rare,
        rare * alike,
        shares,
        (shares == shares.max(initial=0)) * (shares > 0),
        near / max(sum(weights.values()), 1e-6),
        pairs(begun, beginnings),
        own_share(folded),
        *shapes(own),
    ]
    return np.stack(columns, axis=-1).astype(np.float32)


def in_sentences(begun: Words, sentence: Int[np.ndarray, " T"], weights: dict[str, float]) -> Float[np.ndarray, " T"]:
    """For each word how much of the weights its sentence has, each counted once; a share of them all."""
    found: dict[int, set[str]] = {}
    for word, number in zip(begun, sentence.tolist(), strict=True):
        if word in weights:
            found.setdefault(number, set()).add(word)
    total = max(sum(weights.values()), 1e-6)
    shares = {number: sum(weights[word] for word in words) / total for number, words in found.items()}
    return np.array([shares.get(number, 0.0) for number in sentence.tolist()], dtype=np.float32)


def pairs(begun: Words, beginnings: Words) -> Float[np.ndarray, " T"]:
    """1 for both words of a pair of neighbours that the other text has too."""
    known = set(zip(beginnings, beginnings[1:], strict=False))
    marks = np.zeros(len(begun), dtype=np.float32)
    for place, pair in enumerate(zip(begun, begun[1:], strict=False)):
        if pair in known:
            marks[place : place + 2] = 1
    return marks


def own_share(folded: Words) -> Float[np.ndarray, " T"]:
    """How often a word comes in its own text: the logarithm of 1 plus its further occurrences."""
    counts: dict[str, int] = {}
    for word in folded:
        counts[word] = counts.get(word, 0) + 1
    return np.log(np.array([counts[word] for word in folded], dtype=np.float32))


def shapes(own: Words) -> list[Float[np.ndarray, " T"]]:
    return [np.array(column, dtype=np.float32) for column in zip(*map(shape, own), strict=True)]


@lru_cache(maxsize=200_000)
def shape(word: str) -> tuple[bool, ...]:
    """Whether it has a capital in front, capitals only, a digit, and no letter or digit at all."""
    return (
        word[:1].isupper(),
        len(word) > 1 and word.isupper(),
        any(char.isdigit() for char in word),
        not any(char.isalnum() for char in word),
    )
