"""Attention flow between a passage and a question (Seo et al. 2017), over simple recurrent units. Its gaze are both
looks: of each word of the passage at the question, and of the question at the passage."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention import (
    Attention,
    AttentionFactory,
    AttentionPooling,
    LocalAttention,
    LocationAttention,
    PositionBasedAttention,
    UnconditionalAttention,
    WithPosition,
    bare,
)
from core.demo import Demo
from core.layers import Dropout, ambient
from tasks.qa.batch import Batch, Found
from tasks.qa.features import FEATURES
from tasks.qa.labels import TO_PASSAGE, TO_QUESTION
from tasks.qa.lexicon import ALPHABET
from tasks.qa.recurrent import SharedDropout, SimpleRecurrentEncoder
from tasks.qa.spans import best_spans

BY_PLACE = (LocalAttention, LocationAttention, PositionBasedAttention, WithPosition)
CHARACTER_WIDTH, NGRAM = 24, 5
NEAR = 2
"""Words to each side of one that is looked at, that the look also speaks for."""
LEAST = 1e-3
"""The share of a look that every word has, so that none is ruled out by it."""


class WordEmbedding(nn.Module):
    """A vector for each word: the mean of its pieces' vectors, and the largest answer of each filter over its
    characters (Kim et al. 2016). While training, some words are blotted out, wherever they occur."""

    def __init__(self, *, vocabulary: int, width: int, dropout: float) -> None:
        super().__init__()
        self.pieces = nn.Embedding(vocabulary, width, padding_idx=0)
        self.characters = nn.Embedding(ALPHABET, CHARACTER_WIDTH, padding_idx=0)
        self.filters = nn.Linear(NGRAM * CHARACTER_WIDTH, width)
        self.dropout = dropout
        nn.init.normal_(self.pieces.weight, std=0.5)
        nn.init.normal_(self.characters.weight, std=0.5)

    def forward(self, pieces: Int[Tensor, "U N"], characters: Int[Tensor, "U L"]) -> Float[Tensor, "U D"]:
        there = pieces.ne(0).unsqueeze(-1)
        of_pieces = (self.pieces(pieces) * there).sum(dim=1) / there.sum(dim=1).clamp(min=1)
        around = F.pad(self.characters(characters), (0, 0, NGRAM // 2, NGRAM // 2)).unfold(1, NGRAM, 1).flatten(2)
        of_characters = self.filters(ambient(around)).relu().float()
        of_characters = (of_characters * characters.ne(0).unsqueeze(-1)).amax(dim=1)
        both = torch.cat([of_pieces, of_characters], dim=-1)
        if not self.training or not self.dropout:
            return both
        kept = torch.rand(len(both), 1, device=both.device) >= self.dropout
        return both * kept / (1.0 - self.dropout)


class AttentionFlow(Demo):
    """Passage and question are read by the same layers; every word of the passage looks at the question; what it found
    is read again, and the question as a whole looks at that; once more, and each word is a start or an end, or not.

    Words far from all that the question looked at are held back: so the answer's likelihood teaches it where to look.
    """

    def __init__(
        self,
        *,
        attention: AttentionFactory,
        vocabulary: int,
        width: int,
        embedding: int,
        gaze_heads: int,
        encoder_layers: int,
        flow_layers: int,
        answer_layers: int,
        dropout: float,
        word_dropout: float,
        longest_answer: int,
        learning_rate: float,
        warmup_steps: int,
        weight_decay: float,
    ) -> None:
        super().__init__(learning_rate=learning_rate, warmup_steps=warmup_steps, weight_decay=weight_decay)
        if longest_answer < 1:
            raise ValueError(f"an answer has at least one word; longest_answer is {longest_answer}")
        if not 0.0 <= word_dropout < 1.0:
            raise ValueError(f"word_dropout lies between 0 and 1, without 1; got {word_dropout}")
        self.longest_answer = longest_answer
        recurrent = {"width": width, "dropout": dropout}
        self.embedding = WordEmbedding(vocabulary=vocabulary, width=embedding, dropout=word_dropout)
        self.dropout, self.shared_dropout = Dropout(dropout), SharedDropout(dropout, steps=1)
        self.enter = nn.Linear(2 * embedding + len(FEATURES), width)
        self.encoder = SimpleRecurrentEncoder(layers=encoder_layers, **recurrent)
        self.question_pooling = AttentionPooling(UnconditionalAttention, width=width)
        self.asking = nn.Linear(width, width)
        self.to_question = bare(attention, width=width, heads=gaze_heads)
        self.flow = nn.Linear(4 * width + len(FEATURES), width)
        self.flow_encoder = SimpleRecurrentEncoder(layers=flow_layers, **recurrent)
        self.seeking, self.sought = nn.Linear(width, width), nn.Linear(width, width)
        self.to_passage = bare(attention, width=width, heads=gaze_heads)
        self.answer = nn.Linear(4 * width, width)
        self.answer_encoder = SimpleRecurrentEncoder(layers=answer_layers, **recurrent)
        self.bounds = nn.Linear(2 * width, 2)
        self.none = nn.Linear(2 * width, 2)
        for module in (self.to_question, self.to_passage):
            check_gaze(module)

    def forward(self, batch: Batch) -> Float[Tensor, "2 R _"]:
        """Log-probabilities of every word of each window as the start and as the end; before them, of no answer."""
        table = self.embedding(batch.pieces, batch.characters)
        passage = self.read(table[batch.passage], batch.passage_features, batch.passage_mask)
        question = self.read(table[batch.question], batch.question_features, batch.question_mask)
        asked = self.question_pooling(question, batch.question_mask)

        keys = self.asking(question).relu()
        found = self.to_question(self.asking(passage).relu(), keys, question, batch.question_mask)
        matched = torch.cat(
            [passage, found, passage * found, passage * asked.unsqueeze(1), batch.passage_features.to(passage.dtype)],
            dim=-1,
        )
        matched = self.flow_encoder(self.flow(self.shared_dropout(matched)).relu(), batch.passage_mask)

        seeking, sought = self.seeking(asked).unsqueeze(1), self.sought(matched)
        evidence = self.to_passage(seeking, sought, matched, batch.passage_mask)
        asked = asked.unsqueeze(1)
        seen = torch.cat([matched, matched * evidence, matched * asked, passage * evidence], dim=-1)
        seen = self.answer_encoder(self.answer(self.shared_dropout(seen)).relu(), batch.passage_mask)

        bounds = self.bounds(torch.cat([self.shared_dropout(seen), matched * evidence], dim=-1)).float()
        none = self.none(torch.cat([asked, evidence], dim=-1)).float()
        bounds = bounds + pointing(self.to_passage.weights(seeking, sought, batch.passage_mask))
        bounds = bounds.masked_fill(~batch.passage_mask.transpose(1, 2), -torch.inf)
        return torch.cat([none, bounds], dim=1).log_softmax(dim=1).permute(2, 0, 1)

    def read(
        self, embedded: Float[Tensor, "R T _"], features: Float[Tensor, "R T F"], mask: Bool[Tensor, "R 1 T"]
    ) -> Float[Tensor, "R T D"]:
        inputs = ambient(torch.cat([self.shared_dropout(embedded), features], dim=-1))
        return self.encoder(self.enter(inputs), mask)

    def log_probabilities(self, batch: Batch) -> Float[Tensor, "B 1"]:
        """Of the answer that is forced: of its start and its end."""
        batch = batch.focused()
        start, end = self(batch)
        return start.gather(-1, batch.start.unsqueeze(-1)) + end.gather(-1, batch.end.unsqueeze(-1))

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        return -self.log_probabilities(batch).mean() / 2

    def tokens(self, batch: Batch) -> int:
        return 2 * len(batch.focus)

    def generate(self, batch: Batch) -> list[Found]:
        """The best span over the windows of each example."""
        start, end = self(batch)
        best = best_spans(start[:, 1:], end[:, 1:], longest=self.longest_answer)
        none = start[:, 0] + end[:, 0]
        found: list[Found] = []
        for example in range(len(batch.focus)):
            rows = (batch.owner == example).nonzero().squeeze(-1)
            window = int(best.score[rows].argmax())
            row = rows[window]
            least = float(none[rows].min())
            found.append(Found(window, int(best.start[row]), int(best.end[row]), float(best.score[row]), least))
        return found

    @property
    def gaze(self) -> list[str]:
        return [TO_QUESTION, TO_PASSAGE]

    @property
    def explains(self) -> list[str]:
        """The question's look at the passage: one query, as there is one answer."""
        return [TO_PASSAGE]


def pointing(weights: Float[Tensor, "R *H 1 P"]) -> Float[Tensor, "R P 1"]:
    """The logarithm of how much of a look, in the mean of its heads, is on each word or near it."""
    look = weights.flatten(1, -2).mean(dim=1, keepdim=True).float()
    near = F.avg_pool1d(look, 2 * NEAR + 1, stride=1, padding=NEAR) * (2 * NEAR + 1)
    return (near + LEAST).log().transpose(1, 2)


def check_gaze(attention: Attention) -> None:
    """Raises ValueError for a mechanism that goes by places."""
    wrong = next((type(module).__name__ for module in attention.modules() if isinstance(module, BY_PLACE)), None)
    if wrong:
        raise ValueError(
            f"{wrong} goes by how far a key stands from its query or from where the query before looked, but a word of "
            "a passage and a word of a question have no distance. Mechanisms that fit: scaled_dot, dot, cosine, "
            "content, general, additive, unconditional, mean, local_predictive, multi_head"
        )
