"""A language model: a causal transformer that says how likely each next token is, and goes on from a prompt."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention import AttentionFactory, Prepared
from core.decode import Decoded, sample, take
from core.demo import Demo
from core.layers import Dropout, ambient
from core.training import best_precision
from tasks.generation.characters import Characters
from tasks.generation.examples import PAD, Batch
from tasks.generation.layers import ACTIVATIONS, Layer
from tasks.generation.muon import Muon

NEVER = (Characters.PAD, Characters.UNKNOWN)
POSITIONS = ("rotary", "learned")


class Past(NamedTuple):
    """What was read: the tokens, and what each layer keeps of them. The caller holds it; no module keeps it."""

    tokens: Int[Tensor, "B T"]
    layers: tuple[Prepared | None, ...]

    @property
    def first(self) -> int:
        """The place of the token that comes next."""
        return self.tokens.shape[1]

    def follow(self, rows: Int[Tensor, " N"]) -> "Past":
        return take(self, rows)

    def take(self, rows: Int[Tensor, " N"]) -> "Past":
        return take(self, rows)


class Prompted(NamedTuple):
    """A prompt that is read in the first step, and the past."""

    prompt: Int[Tensor, "B P"]
    past: Past

    def follow(self, rows: Int[Tensor, " N"]) -> "Prompted":
        return take(self, rows)

    def take(self, rows: Int[Tensor, " N"]) -> "Prompted":
        return take(self, rows)


class LanguageModel(Demo):
    """Embeddings, layers that look back at most `context` tokens, and logits of the next token.

    A token is embedded together with so many `neighbours` before it, so that attention need not fetch them.
    `matrix_rate` is the learning rate of Muon for the matrices of the layers; without it they have AdamW like the rest.
    """

    def __init__(
        self,
        *,
        attention: AttentionFactory,
        vocabulary: int,
        context: int,
        width: int,
        heads: int,
        layers: int,
        hidden: int,
        neighbours: int,
        positions: str,
        activation: str,
        tied: bool,
        dropout: float,
        learning_rate: float,
        matrix_rate: float | None,
        warmup_steps: int,
        weight_decay: float,
    ) -> None:
        super().__init__(learning_rate=learning_rate, warmup_steps=warmup_steps, weight_decay=weight_decay)
        for name, value, known in (("positions", positions, POSITIONS), ("activation", activation, ACTIVATIONS)):
            if value not in known:
                raise ValueError(f"{name} is one of {', '.join(known)}; got {value!r}")
        if context < 2 or layers < 1 or neighbours < 0:
            raise ValueError(
                f"a model has a context of at least 2 tokens, a layer to look at it, and neighbours of 0 or more; got "
                f"{context}, {layers} and {neighbours}"
            )
        self.context, self.matrix_rate = context, matrix_rate
        self.embedding = nn.Embedding(vocabulary, width)
        self.neighbours = nn.ModuleList(nn.Embedding(vocabulary, width) for _ in range(neighbours))
        self.positions = nn.Embedding(context, width) if positions == "learned" else None
        self.dropout = Dropout(dropout)
        layer = {"width": width, "heads": heads, "hidden": hidden, "activation": activation}
        places = context if positions == "rotary" else None
        self.layers = nn.ModuleList(
            Layer(attention=attention, places=places, dropout=dropout, **layer) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width, bias=False)
        self.output = None if tied else nn.Linear(width, vocabulary, bias=False)
        self.initialise()
        self.decode: Callable[..., list[Decoded]] = partial(sample, temperature=0.8)
        """How tokens are chosen: drawn a little sharper than the model has it, unless told otherwise."""

    def initialise(self) -> None:
        """Small embeddings; an output of its own begins with every token alike."""
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
        if self.output is not None:
            nn.init.zeros_(self.output.weight)

    def embed(self, tokens: Int[Tensor, "B T"], before: Int[Tensor, "B P"]) -> Float[Tensor, "B T D"]:
        """Of each token, of its neighbours before it, and of its place after those that came `before`."""
        first, new = before.shape[1], tokens.shape[1]
        embedded, known = look_up(self.embedding, tokens), torch.cat([before, tokens], dim=1)
        for back, table in enumerate(self.neighbours, start=1):
            embedded = embedded + look_up(cast(nn.Embedding, table), F.pad(known, (back, 0))[:, first : first + new])
        if self.positions is not None:
            embedded = embedded + self.positions.weight[first : first + new]
        return self.dropout(ambient(embedded))

    def begin(self, rows: int) -> Past:
        """Before anything is read."""
        nothing = torch.zeros(rows, 0, dtype=torch.long, device=self.embedding.weight.device)
        return Past(nothing, (None,) * len(self.layers))

    def step(self, tokens: Int[Tensor, "B T"], past: Past) -> tuple[Float[Tensor, "B T V"], Past]:
        """Logits after each token, and the past with them.

        Where the context is full, its later half is read again, and the reading goes on from there.
        """
        new = tokens.shape[1]
        if past.first + new > self.context:
            kept = max(new, self.context // 2)
            tokens, past = torch.cat([past.tokens, tokens], dim=1)[:, -kept:], self.begin(len(tokens))
        hidden, layers = self.embed(tokens, past.tokens), []
        for layer, before in zip(self.layers, past.layers, strict=True):
            hidden, seen = layer(hidden, before, first=past.first)
            layers.append(seen)
        table = self.embedding.weight if self.output is None else self.output.weight
        logits = F.linear(self.norm(hidden[:, -new:]), table)
        return logits, Past(torch.cat([past.tokens, tokens], dim=1), tuple(layers))

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        logits, _ = self.step(tokens, self.begin(len(tokens)))
        return logits

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        following = batch.following.masked_fill(~batch.counts, PAD)
        return F.cross_entropy(self(batch.tokens).float().flatten(0, 1), following.flatten(), ignore_index=PAD)

    def log_probabilities(self, batch: Batch) -> Float[Tensor, "B T"]:
        """Of the token after each one that is read."""
        return self(batch.tokens).float().log_softmax(dim=-1).gather(-1, batch.following.unsqueeze(-1)).squeeze(-1)

    def tokens(self, batch: Batch) -> int:
        return int(batch.counts.sum())

    def generate(self, batch: Batch) -> list[Decoded]:
        """What comes after prompts, by `self.decode`; of texts to be scored, the likeliest token at each place that
        counts, with the log-probability of the one that stands there."""
        if not batch.length:
            return self.guesses(batch)
        limits = torch.full((len(batch.tokens),), batch.length, device=batch.tokens.device)
        state = Prompted(batch.tokens, self.begin(len(batch.tokens)))
        return self.decode(self.after, state, start=PAD, end=PAD, limits=limits, never=NEVER)

    def after(self, tokens: Int[Tensor, "N 1"], state: Prompted) -> tuple[Float[Tensor, "N _ V"], Prompted]:
        """A step of generation; in the first one the prompt stands for the start mark."""
        logits, past = self.step(tokens if state.past.first else state.prompt, state.past)
        return logits, state._replace(past=past)

    def guesses(self, batch: Batch) -> list[Decoded]:
        logits = self(batch.tokens).float()
        likeliest = logits.argmax(dim=-1)
        shares = logits.log_softmax(dim=-1).gather(-1, batch.following.unsqueeze(-1)).squeeze(-1)
        return [
            Decoded(said[counts].tolist(), found[counts].tolist(), cut=False)
            for said, found, counts in zip(likeliest, shares, batch.counts, strict=True)
        ]

    @property
    def gaze(self) -> list[str]:
        return [f"layers.{number}.attention" for number in range(len(self.layers))]

    def configure_optimizers(self) -> dict[str, Any]:
        """As every demo, unless there is a rate for Muon: the matrices of the layers are then its own."""
        if self.matrix_rate is None:
            return super().configure_optimizers()
        matrices = [weight for weight in self.layers.parameters() if weight.dim() == 2]
        own = {id(weight) for weight in matrices}
        rest = [weight for weight in self.parameters() if id(weight) not in own]
        optimizer = Muon(
            [
                {"params": matrices, "lr": self.matrix_rate, "orthogonal": True, "weight_decay": self.weight_decay},
                {"params": rest, "lr": self.learning_rate},
            ],
            dtype=torch.bfloat16 if best_precision() == "bf16-mixed" else torch.float32,
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: self.rate(step))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def look_up(table: nn.Embedding, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
    """The rows of a table; an unknown token is the mean of all known ones."""
    unknown = tokens == Characters.UNKNOWN
    if not unknown.any():
        return table(tokens)
    mean = table.weight[Characters.UNKNOWN + 1 :].mean(dim=0)
    return torch.where(unknown.unsqueeze(-1), mean, table(tokens))
