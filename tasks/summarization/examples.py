"""An article as the sentences it consists of, and batches of them."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from core.sentences import Span, sentences
from tasks.summarization.features import NOTHING, OF_A_SENTENCE, OF_A_WORD, Look
from tasks.summarization.sentences import joined, listed, terms


class Article(NamedTuple):
    """A text and where its sentences stand in it."""

    text: str
    spans: tuple[Span, ...]
    words: tuple[tuple[str, ...], ...]
    """Of each sentence, as `sentences.terms` finds them."""

    @classmethod
    def of(cls, text: str, spans: Sequence[Span]) -> "Article":
        return cls(text, tuple(spans), tuple(tuple(terms(text[start:end])) for start, end in spans))

    @classmethod
    def read(cls, text: str, *, language: str) -> "Article":
        """Splits a text; a heading is no sentence of it."""
        return cls.of(text, without_heading(text, sentences(text, language=language)))

    def until(self, sentences: int) -> "Article":
        """Its first sentences."""
        return self._replace(spans=self.spans[:sentences], words=self.words[:sentences])

    def sentence(self, number: int) -> str:
        start, end = self.spans[number]
        return " ".join(self.text[start:end].split())

    def summary(self, chosen: Sequence[int]) -> str:
        """The chosen sentences in one line."""
        return joined(self.text, [self.spans[each] for each in chosen])

    def lines(self, chosen: Sequence[int]) -> str:
        """The chosen sentences on a line each, as ROUGE takes them."""
        return listed(self.text, [self.spans[each] for each in chosen])

    def without(self, gone: Collection[int]) -> list[list[str]]:
        """The words of all sentences, with nothing in the place of each word of some of them."""
        return [[NOTHING] * len(said) if n in gone else list(said) for n, said in enumerate(self.words)]


def without_heading(text: str, spans: Sequence[Span]) -> list[Span]:
    """The first sentence left out where it is a line of its own with a blank one below, and ends in no mark."""
    if len(spans) < 2:
        return list(spans)
    (start, end), (following, _) = spans[:2]
    alone = text[end:following].count("\n") > 1 and not text[end:following].strip()
    return list(spans[alone and text[end - 1].isalnum() and "\n" not in text[start:end] :])


class Labelled(NamedTuple):
    """An article with what a summary of it should be."""

    article: Article
    labels: tuple[int, ...]
    """Numbers of the sentences that belong into it."""
    reference: str
    """Sentences on lines."""


class Example(NamedTuple):
    """An article as a model gets it. What was asked for by a person has no labels and no reference."""

    input: str
    article: Article
    look: Look
    labels: tuple[int, ...] = ()
    reference: str = ""
    notices: tuple[str, ...] = ()


class Batch(NamedTuple):
    """Articles of different length, padded; `T` are the words of a sentence, `S` the sentences of an article."""

    words: Int[Tensor, "B S T"]
    word_features: Float[Tensor, "B S T F"]
    word_mask: Bool[Tensor, "B S T"]
    features: Float[Tensor, "B S G"]
    mask: Bool[Tensor, "B S"]
    labels: Float[Tensor, "B S"]
    """1 for a sentence that belongs into the summary, and else 0."""


def batched(examples: Sequence[Example]) -> Batch:
    """Also of articles without a sentence, which are all padding."""
    lengths = pad_sequence([each.look.lengths for each in examples], batch_first=True)
    lengths = torch.nn.functional.pad(lengths, (0, max(0, 1 - lengths.shape[1])))
    rows, sentences = lengths.shape
    word_mask = torch.arange(max(1, int(lengths.max()))) < lengths.unsqueeze(-1)
    mask = lengths > 0
    words = torch.zeros(word_mask.shape, dtype=torch.long)
    word_features = torch.zeros(*word_mask.shape, OF_A_WORD)
    words[word_mask] = torch.cat([each.look.words for each in examples])
    word_features[word_mask] = torch.cat([each.look.word_features for each in examples])
    features = torch.zeros(rows, sentences, OF_A_SENTENCE)
    features[mask] = torch.cat([each.look.features for each in examples])
    labels = torch.zeros(rows, sentences)
    for row, each in enumerate(examples):
        labels[row, list(each.labels)] = 1.0
    return Batch(words, word_features, word_mask, features, mask, labels)
