"""The sliding window (Richardson et al. 2013, as Rajpurkar et al. 2016 use it): no learning, only words in common."""

from typing import TYPE_CHECKING

import numpy as np

from core.sentences import Span
from tasks.qa.features import FEATURES
from tasks.qa.sentences import numbers, sentences

if TYPE_CHECKING:
    from tasks.qa.data import Example

RARE = FEATURES.index("rarity where the beginning is the same")
SHARE = FEATURES.index("share of the other text in this sentence")
ALIKE = FEATURES.index("same beginning")
SIGN = FEATURES.index("sign")
RARITY = FEATURES.index("rarity")
LONGEST = 4
"""Words of an answer."""


def most_alike_sentence(example: "Example") -> Span:
    """The sentence of the passage that has most of the question, rare words counting more."""
    passage = example.passage
    of_sentence = numbers(passage.spans, passage.text)
    return sentences(passage.text)[of_sentence[passage.features[:, SHARE].argmax()]]


def answer_by_sliding_window(example: "Example") -> str:
    """The words of the best sentence that are not the question's, have rare words, and stand nearest to what is the
    question's: a run of at most four."""
    sentence = most_alike_sentence(example)
    passage = example.passage
    places = [n for n, (start, _) in enumerate(passage.spans) if sentence[0] <= start < sentence[1]]
    shared = [n for n in places if passage.features[n, RARE] > 0]
    best, score = (places[0], places[0]), -np.inf
    for at, first in enumerate(places):
        for last in places[at : at + LONGEST]:
            run = passage.features[first : last + 1]
            if run[:, ALIKE].any() or run[:, SIGN].any():
                break
            near = np.mean([np.exp(-min(abs(n - first), abs(n - last)) / 5) for n in shared]) if shared else 0.0
            value = float(near) + float(run[:, RARITY].mean()) + 0.1 * (last - first)
            if value > score:
                best, score = (first, last), value
    return passage.text[passage.spans[best[0]][0] : passage.spans[best[1]][1]]
