"""What can be seen of words and sentences without reading them: how long, how rare, how often, where, and how much a
sentence shares with the others (Luhn 1958; Edmundson 1969; Erkan and Radev 2004; Mihalcea and Tarau 2004)."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tasks.summarization.vocabulary import Vocabulary

NOTHING = ""
"""Stands in the place of a word that says nothing: unknown, and shared with no other sentence."""
OF_A_WORD = 4
OF_A_SENTENCE = 18


class Look(NamedTuple):
    """A document as a model gets it."""

    words: Int[Tensor, " N"]
    """Numbers of all words, sentence after sentence."""
    word_features: Float[Tensor, "N F"]
    lengths: Int[Tensor, " S"]
    """How many words each sentence has."""
    features: Float[Tensor, "S G"]


def look(sentences: Sequence[Sequence[str]], vocabulary: Vocabulary) -> Look:
    """Reads the words of each sentence of a document."""
    return Look(
        torch.tensor([vocabulary.number(word) for words in sentences for word in words], dtype=torch.long),
        torch.from_numpy(word_features(sentences, vocabulary)),
        torch.tensor([len(words) for words in sentences], dtype=torch.long),
        torch.from_numpy(sentence_features(sentences, vocabulary)),
    )


def word_features(sentences: Sequence[Sequence[str]], vocabulary: Vocabulary) -> Float[np.ndarray, "N F"]:
    """Of each word: its rarity, its count in the document, the share of sentences with it, and whether it is common."""
    counts = Counter(word for words in sentences for word in words)
    spread = Counter(word for words in sentences for word in set(words))
    of = {
        word: (
            vocabulary.rarity(word),
            np.log(count),
            spread[word] / len(sentences),
            float(vocabulary.common(word)),
        )
        for word, count in counts.items()
        if word != NOTHING
    }
    rows = [of.get(word, (0.0,) * OF_A_WORD) for words in sentences for word in words]
    return np.array(rows, dtype=np.float32).reshape(-1, OF_A_WORD)


def sentence_features(sentences: Sequence[Sequence[str]], vocabulary: Vocabulary) -> Float[np.ndarray, "S G"]:
    """Of each sentence its place, then measures of it: as they are, and in standard deviations from the document's
    mean."""
    if not sentences:
        return np.zeros((0, OF_A_SENTENCE), dtype=np.float32)
    count = len(sentences)
    places = np.arange(count)
    place = np.stack([places / count, 1 / (places + 1), places == 0, np.full(count, np.log(count) / 4)], axis=-1)
    measured = measures(sentences, vocabulary)
    spread = measured.std(axis=0)
    standing = (measured - measured.mean(axis=0)) / np.where(spread > 1e-6, spread, 1.0)
    return np.concatenate([place, measured, standing], axis=-1).astype(np.float32)


def measures(sentences: Sequence[Sequence[str]], vocabulary: Vocabulary) -> Float[np.ndarray, "S M"]:
    """How long a sentence is, how frequent its words are in the document, how near it is to the document's middle,
    and how much it shares with the other sentences, by three measures. Common words count only for the length."""
    table = counted(sentences, vocabulary)
    rarities = np.array([vocabulary.rarity(word) for word in content(sentences, vocabulary)])
    has, long = table > 0, table.sum(axis=1)
    frequent = table @ table.sum(axis=0)
    weighted = table * rarities
    lengths = np.array([len(words) for words in sentences])
    shared = without_itself(has.astype(float) @ has.T)
    logs = np.log(lengths + 2)
    others = max(1, len(sentences) - 1)
    return np.stack(
        [
            np.log(lengths + 1) / 4,
            np.log(frequent + 1) / 4,
            frequent / np.maximum(long, 1) / 4,
            cosines(weighted, weighted.sum(axis=0, keepdims=True))[:, 0],
            without_itself(cosines(table, table)).sum(axis=1) / others * 4,
            (shared / (logs[:, None] + logs)).sum(axis=1) / others * 4,
            shared.sum(axis=1) / np.sqrt(has.sum(axis=1) + 1) / others * 2,
        ],
        axis=-1,
    )


def content(sentences: Sequence[Sequence[str]], vocabulary: Vocabulary) -> list[str]:
    """The different words of a document that are not common, in the order in which they come."""
    different = dict.fromkeys(word for words in sentences for word in words)
    return [word for word in different if word != NOTHING and not vocabulary.common(word)]


def counted(sentences: Sequence[Sequence[str]], vocabulary: Vocabulary) -> Float[np.ndarray, "S V"]:
    """How often each sentence has each word that is not common."""
    columns = {word: column for column, word in enumerate(content(sentences, vocabulary))}
    table = np.zeros((len(sentences), len(columns)))
    for row, words in enumerate(sentences):
        for word in words:
            if word in columns:
                table[row, columns[word]] += 1
    return table


def cosines(one: Float[np.ndarray, "S V"], other: Float[np.ndarray, "T V"]) -> Float[np.ndarray, "S T"]:
    """0 where a side is empty."""
    lengths = [np.linalg.norm(each, axis=1) for each in (one, other)]
    return (one @ other.T) / np.maximum(np.outer(*lengths), 1e-9)


def without_itself(pairs: Float[np.ndarray, "S S"]) -> Float[np.ndarray, "S S"]:
    return pairs * (1 - np.eye(len(pairs)))
