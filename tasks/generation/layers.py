"""The parts of a causal transformer: attention to the past with rotary places, a feed-forward network, and a layer."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention import AttentionFactory, LocalAttention, MultiHeadAttention, Prepared
from core.attention.multi_head import makes_heads, with_head_axis
from core.layers import Dropout
from core.masks import causal

ACTIVATIONS = {"squared_relu": lambda inputs: squared(inputs.relu()), "gelu": F.gelu}


class Rotary(nn.Module):
    """Turns pairs of numbers by angles that grow with the place, so that the product of a query and a key knows how far
    apart they are (Su et al. 2021, "RoFormer")."""

    turns: Tensor

    def __init__(self, *, width: int, places: int) -> None:
        super().__init__()
        if width % 2:
            raise ValueError(f"rotary positions turn pairs of numbers: the width of a head must be even; got {width}")
        rates = 10_000 ** (-torch.arange(0, width, 2) / width)
        angles = (torch.arange(places).unsqueeze(-1) * rates).repeat(1, 2)
        sines = torch.cat([-angles[:, : width // 2].sin(), angles[:, width // 2 :].sin()], dim=-1)
        self.register_buffer("turns", torch.stack([angles.cos(), sines]), persistent=False)

    def forward(self, inputs: Float[Tensor, "*B T D"], *, first: int) -> Float[Tensor, "*B T D"]:
        cosines, sines = self.turns[:, first : first + inputs.shape[-2]].to(inputs.dtype)
        return torch.addcmul(inputs * cosines, inputs.roll(inputs.shape[-1] // 2, dims=-1), sines)


class PastAttention(MultiHeadAttention):
    """Self-attention over a past that grows; with `rotary` places, queries and keys are turned by theirs.

    They are turned before any mechanism compares them, so every mechanism that reads both knows how far apart they are.
    """

    def __init__(self, mechanism: AttentionFactory, *, width: int, heads: int, places: int | None) -> None:
        if makes_heads(mechanism):
            mechanism = getattr(mechanism, "keywords", {}).get("mechanism", mechanism)
        super().__init__(mechanism, query_dim=width, heads=heads)
        if self.looks_back:
            raise ValueError(
                f"{type(self.mechanism).__name__} has no meaning over a past that grows: it reads where the one before "
                "looked, token by token, over keys that stay. It is for speech and translation"
            )
        self.rotary = Rotary(width=width // heads, places=places) if places else None

    def turned(self, inputs: Float[Tensor, "*B T D"], first: int) -> Float[Tensor, "*B H T _"]:
        split = self.split(inputs)
        return self.rotary(split, first=first) if self.rotary else split

    def read(self, inputs: Float[Tensor, "*B T D"], *, first: int) -> Prepared:
        """Keys and values of the tokens that come next in the past, the first of them at the place `first`."""
        keys, values = self.key_projection(inputs), self.value_projection(inputs)
        return self.mechanism.prepare(self.turned(keys, first), self.split(values))

    def prepare(self, keys: Float[Tensor, "*B K _"], values: Float[Tensor, "*B K E"]) -> Prepared:
        keys, values = self.key_projection(keys), self.value_projection(values)
        return self.mechanism.prepare(self.turned(keys, 0), self.split(values))

    def mix(self, query: Tensor, prepared: Prepared, mask: Tensor | None, first: int) -> Tensor:
        query = self.turned(self.query_projection(query), first)
        heads = self.mechanism.mix(query, prepared, with_head_axis(mask), first)
        return self.output_projection(heads.transpose(-3, -2).flatten(-2))

    def weights(
        self,
        query: Float[Tensor, "*B Q _"],
        keys: Float[Tensor, "*B K _"] | Prepared,
        mask: Tensor | None = None,
        *,
        first: int = 0,
    ) -> Float[Tensor, "*B H Q K"]:
        query = self.turned(self.query_projection(query), first)
        if not isinstance(keys, Prepared):
            keys = self.turned(self.key_projection(keys), 0)
        return self.mechanism.weights(query, keys, with_head_axis(mask), first=first)


def squared(inputs: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    return inputs * inputs


class FeedForward(nn.Module):
    """The same small network at every place; without biases."""

    def __init__(self, *, width: int, hidden: int, activation: str) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.widen = nn.Linear(width, hidden, bias=False)
        self.narrow = nn.Linear(hidden, width, bias=False)

    def forward(self, inputs: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.narrow(self.activation(self.widen(inputs)))


class Layer(nn.Module):
    """Every token looks back (the gaze), then thinks for itself; the norm comes first (Xiong et al. 2020)."""

    def __init__(
        self,
        *,
        attention: AttentionFactory,
        width: int,
        heads: int,
        hidden: int,
        places: int | None,
        activation: str,
        dropout: float,
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width, bias=False)
        self.attention = PastAttention(attention, width=width, heads=heads, places=places)
        self.feed_forward_norm = nn.LayerNorm(width, bias=False)
        self.feed_forward = FeedForward(width=width, hidden=hidden, activation=activation)
        self.dropout = Dropout(dropout)
        # A layer says nothing at first, so that a deep network begins as a shallow one.
        nn.init.zeros_(self.attention.output_projection.weight)
        nn.init.zeros_(self.feed_forward.narrow.weight)
        self.looks_back_alone = isinstance(self.attention.mechanism, LocalAttention)
        if isinstance(self.attention.mechanism, LocalAttention):
            self.attention.mechanism.after = 0

    def forward(
        self, inputs: Float[Tensor, "B T D"], past: Prepared | None, *, first: int
    ) -> tuple[Float[Tensor, "B T D"], Prepared]:
        """Returns the outputs, and the past with these inputs in it."""
        normed = self.attention_norm(inputs)
        seen = self.attention.read(normed, first=first)
        seen = seen if past is None else past.extend(seen)
        # A window that ends at the query needs no mask, and without one its cost grows with the window alone.
        mask = None if self.looks_back_alone else causal(inputs.shape[-2], seen.keys.shape[-2], device=inputs.device)
        inputs = inputs + self.dropout(self.attention(normed, seen, mask=mask, first=first))
        return inputs + self.dropout(self.feed_forward(self.feed_forward_norm(inputs))), seen
