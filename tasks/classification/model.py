"""A classifier: words become vectors, a small encoder reads them, the gaze pools them, and a line says the label."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention import Attention, AttentionPooling, LocalAttention, PredictiveLocalAttention
from core.attention.multi_head import makes_heads
from core.demo import Demo
from core.layers import Dropout, Encoder, SinusoidalPositions, ambient
from core.recurrent import RecurrentEncoder
from tasks.classification.examples import UNLABELLED, Batch
from tasks.classification.pooling import MaxPooling
from tasks.classification.words import SHAPES, Vocabulary

ENCODERS = ("none", "gru", "transformer")
WINDOWS = (LocalAttention, PredictiveLocalAttention)
LEAVE_ONE_OUT = "leave-one-out"
SPREAD = 0.4
"""Standard deviation of embeddings at first."""
ROWS = 512
"""How many texts are read at once while words are left out."""


class Judged(NamedTuple):
    """What a model makes of a text."""

    label: int
    log_probabilities: tuple[float, ...]
    """Of every label, in nats."""


class Classifier(Demo):
    """`attention` pools the words into one vector; its query, if it reads one, is learned and the same for all texts.

    `encoder` is none (the words themselves, in any order), gru or transformer.
    """

    def __init__(
        self,
        *,
        attention: Callable[..., Attention | MaxPooling],
        vocabulary: int,
        labels: int,
        buckets: int,
        encoder: str,
        width: int,
        layers: int,
        heads: int,
        hidden: int,
        gaze_heads: int,
        dropout: float,
        word_dropout: float,
        label_smoothing: float,
        max_length: int,
        learning_rate: float,
        warmup_steps: int,
        weight_decay: float,
    ) -> None:
        super().__init__(learning_rate=learning_rate, warmup_steps=warmup_steps, weight_decay=weight_decay)
        if encoder not in ENCODERS:
            raise ValueError(f"encoder is one of {', '.join(ENCODERS)}; got {encoder!r}")
        if not 0.0 <= label_smoothing < 1.0 or not 0.0 <= word_dropout < 1.0:
            raise ValueError(
                f"label_smoothing and word_dropout lie between 0 and 1, without 1; got {label_smoothing} and "
                f"{word_dropout}"
            )
        self.label_smoothing, self.word_dropout = label_smoothing, word_dropout
        self.embedding = WordEmbedding(vocabulary=vocabulary, buckets=buckets, width=width)
        self.dropout = Dropout(dropout)
        self.encoder: nn.Module | None = None
        self.positions: SinusoidalPositions | None = None
        if encoder == "gru":
            self.encoder = RecurrentEncoder(width=width, layers=layers, dropout=dropout)
        if encoder == "transformer":
            self.positions = SinusoidalPositions(width=width, max_length=max_length)
            self.encoder = Encoder(layers=layers, width=width, heads=heads, hidden=hidden, dropout=dropout)
        self.pooling = pooling(attention, width=width, heads=gaze_heads)
        self.judge = nn.Linear(width, labels)

    def encode(self, batch: Batch) -> Float[Tensor, "B T D"]:
        """A vector for each word, which knows its neighbours where there is an encoder; the word itself stays in it, so
        that a look at it is not a look at them alone."""
        words = self.embedding(batch.ids, batch.parts, batch.shapes)[self.dropped(batch.place)]
        words = self.dropout(ambient(self.positions(words) if self.positions else words))
        if isinstance(self.encoder, RecurrentEncoder):
            return words + self.dropout(self.encoder(words, batch.mask).states)
        return self.encoder(words, batch.mask) if self.encoder else words

    def dropped(self, place: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
        """While training nothing stands in the place of some words, so that no word alone decides too much, and so
        that leaving a word out later is nothing new."""
        if not self.training or not self.word_dropout:
            return place
        return place * (torch.rand(place.shape, device=place.device) >= self.word_dropout)

    def forward(self, batch: Batch) -> Float[Tensor, "B V"]:
        """Logits of the labels."""
        return self.judge(self.dropout(self.pooling(self.encode(batch), batch.mask))).float()

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        smoothing = self.label_smoothing if self.training else 0.0
        return F.cross_entropy(self(batch), batch.label, ignore_index=UNLABELLED, label_smoothing=smoothing)

    def tokens(self, batch: Batch) -> int:
        return len(batch.label)

    def log_probabilities(self, batch: Batch) -> Float[Tensor, "B 1"]:
        """Of the label that each text has in the batch; of the likeliest one where it has none."""
        found = self(batch).log_softmax(dim=-1)
        label = torch.where(batch.label == UNLABELLED, found.argmax(dim=-1), batch.label)
        return found.gather(-1, label.unsqueeze(-1))

    def generate(self, batch: Batch) -> list[Judged]:
        """The likeliest label of each text."""
        found = self(batch).log_softmax(dim=-1)
        return [Judged(int(row.argmax()), tuple(row.tolist())) for row in found]

    @torch.no_grad()
    def beside(self, batch: Batch) -> dict[str, Float[Tensor, "B 1 T"]]:
        """What the label loses where nothing stands in the place of each word, as shares of all that is lost."""
        lost = self.leave_one_out(batch).clamp(min=0.0)
        return {LEAVE_ONE_OUT: (lost / lost.sum(dim=-1, keepdim=True).clamp(min=1e-9)).unsqueeze(-2)}

    def leave_one_out(self, batch: Batch) -> Float[Tensor, "B T"]:
        """How many nats the label's log-probability falls without each word; 0 at padding."""
        rows, words = batch.place.shape
        without = batch.place.repeat_interleave(words, dim=0) * ~torch.eye(words, dtype=torch.bool).repeat(rows, 1)
        whole = self.log_probabilities(batch)
        left = []
        for some in torch.arange(rows * words).split(ROWS):
            owner = some // words
            part = batch._replace(place=without[some], mask=batch.mask[owner], label=batch.label[owner])
            left.append(self.log_probabilities(part))
        return (whole - torch.cat(left).reshape(rows, words)) * batch.mask.squeeze(-2)

    @property
    def gaze(self) -> list[str]:
        return [] if isinstance(self.pooling, MaxPooling) else ["pooling.attention"]


class WordEmbedding(nn.Module):
    """A vector for each word: its own, the mean of its parts', and that of its shape together; zeros for nothing."""

    def __init__(self, *, vocabulary: int, buckets: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width, padding_idx=Vocabulary.NOTHING)
        self.parts = nn.EmbeddingBag(buckets + 1, width, mode="mean", padding_idx=Vocabulary.NOTHING)
        self.shapes = nn.Embedding(SHAPES, width, padding_idx=Vocabulary.NOTHING)
        for table in (self.words, self.parts, self.shapes):
            nn.init.normal_(table.weight, std=SPREAD)
            with torch.no_grad():
                table.weight[Vocabulary.NOTHING] = 0.0

    def forward(
        self, ids: Int[Tensor, " N"], parts: Int[Tensor, "N P"], shapes: Int[Tensor, " N"]
    ) -> Float[Tensor, "N D"]:
        return self.words(ids) + self.parts(parts) + self.shapes(shapes)


def pooling(
    attention: Callable[..., Attention | MaxPooling], *, width: int, heads: int
) -> AttentionPooling | MaxPooling:
    """What makes one vector of the words.

    Raises:
        ValueError: for a mechanism that sees a window: the one query of a text has no place in it.
    """
    made = attention(query_dim=width, key_dim=width, heads=heads if makes_heads(attention) else 1)
    if isinstance(made, MaxPooling):
        return made
    for module in made.modules():
        if isinstance(module, WINDOWS):
            raise ValueError(
                f"{type(module).__name__} has no meaning where a text is pooled: its one query has no place among the "
                "words that a window could be around. Those that fit: unconditional, additive, dot, scaled_dot, "
                "cosine, general, content, position, with_position, multi_head, and the controls mean and max"
            )
    return AttentionPooling(made, width=width)
