"""A summarizer: words become sentences, sentences read each other, and the document's middle says which count."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention import (
    AttentionFactory,
    AttentionPooling,
    LocalAttention,
    PositionBasedAttention,
    UnconditionalAttention,
    WithPosition,
    bare,
)
from core.demo import Demo
from core.layers import Dropout, Encoder, ambient
from tasks.summarization.examples import Batch
from tasks.summarization.features import OF_A_SENTENCE, OF_A_WORD
from tasks.summarization.vocabulary import PAD, UNKNOWN

REFUSED = (LocalAttention, PositionBasedAttention, WithPosition)


class Scored(NamedTuple):
    """What a model says of each sentence of an article."""

    logits: Float[np.ndarray, " S"]
    """The log-odds that it belongs into a summary."""


class Summarization(Demo):
    """A hierarchical attention network (Yang et al. 2016) with a learned centroid (Radev et al. 2004).

    Unconditional attention pools words to sentences; a transformer encoder lets sentences read each other. The mean of
    the sentences is the document, which looks at them: that is the gaze. What it gathers is the centre of what matters,
    and a sentence belongs into the summary if it lies on the same side of the mean. A gaze that looks everywhere alike
    gathers the mean itself, by which no sentence is better than another: so it has to look at what matters.
    """

    def __init__(
        self,
        *,
        attention: AttentionFactory,
        vocabulary: int,
        width: int,
        gaze_heads: int,
        layers: int,
        heads: int,
        hidden: int,
        dropout: float,
        word_dropout: float,
        learning_rate: float,
        warmup_steps: int,
        weight_decay: float,
    ) -> None:
        super().__init__(learning_rate=learning_rate, warmup_steps=warmup_steps, weight_decay=weight_decay)
        if not 0.0 <= word_dropout < 1.0:
            raise ValueError(f"word_dropout lies between 0 and 1, without 1; got {word_dropout}")
        self.word_dropout = word_dropout
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.word_look = nn.Linear(OF_A_WORD, width)
        self.words = AttentionPooling(UnconditionalAttention, width=width)
        self.sentence_look = nn.Sequential(
            nn.Linear(OF_A_SENTENCE, hidden), nn.ReLU(), Dropout(dropout), nn.Linear(hidden, width)
        )
        self.encoder = Encoder(layers=layers, width=width, heads=heads, hidden=hidden, dropout=dropout)
        self.question = nn.Linear(width, width)
        self.gaze_over_sentences = bare(attention, width=width, heads=gaze_heads)
        refuse_places(self.gaze_over_sentences)
        self.scale = nn.Parameter(torch.tensor(8.0 / width))
        self.bias = nn.Parameter(torch.tensor(-0.5))
        self.dropout = Dropout(dropout)

    def read(self, batch: Batch) -> Float[Tensor, "B S D"]:
        """Sentences that have read each other."""
        words = batch.words
        if self.training and self.word_dropout:
            words = words.masked_fill((torch.rand(words.shape, device=words.device) < self.word_dropout), UNKNOWN)
        seen = ambient(self.embedding(words) + self.word_look(batch.word_features))
        said = self.words(self.dropout(seen), batch.word_mask.unsqueeze(-2))
        return self.encoder(self.dropout(said + self.sentence_look(batch.features)), batch.mask.unsqueeze(-2))

    def forward(self, batch: Batch) -> Float[Tensor, "B S"]:
        """The log-odds of each sentence; of padding, numbers that mean nothing."""
        sentences = self.read(batch)
        counted = batch.mask.unsqueeze(-1).to(sentences.dtype)
        document = (sentences * counted).sum(dim=1, keepdim=True) / counted.sum(dim=1, keepdim=True).clamp(min=1)
        centre = self.gaze_over_sentences(self.question(document), sentences, sentences, batch.mask.unsqueeze(-2))
        away, towards = (part.float() - document.float() for part in (sentences, centre))
        return (away * towards).sum(dim=-1) * self.scale + self.bias

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        return F.binary_cross_entropy_with_logits(self(batch)[batch.mask], batch.labels[batch.mask])

    def tokens(self, batch: Batch) -> int:
        return int(batch.mask.sum())

    def log_probabilities(self, batch: Batch) -> Float[Tensor, "B 1"]:
        """Of the set of labelled sentences: each belongs into the summary or does not, whatever the others do."""
        signs = 2 * batch.labels - 1
        return (F.logsigmoid(signs * self(batch)) * batch.mask).sum(dim=-1, keepdim=True)

    def generate(self, batch: Batch) -> list[Scored]:
        logits = self(batch).detach()
        return [Scored(row[mask].double().cpu().numpy()) for row, mask in zip(logits, batch.mask, strict=True)]

    @property
    def gaze(self) -> list[str]:
        return ["gaze_over_sentences", "words.attention"]

    @property
    def explains(self) -> list[str]:
        return ["gaze_over_sentences"]


def refuse_places(gaze: nn.Module) -> None:
    """Raises ValueError for a mechanism that goes by how far a query is from a key: the document has no place."""
    for module in gaze.modules():
        if isinstance(module, REFUSED):
            raise ValueError(
                f"{type(module).__name__} has no meaning over the sentences of a document: it goes by the distance of "
                "a query from a key, and the only query, the document, stands nowhere. Those that fit: scaled_dot, "
                "dot, cosine, content, general, additive, multi_head, unconditional, and local_predictive, which says "
                "where to look"
            )
