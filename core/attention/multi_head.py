"""Multi-head attention (Vaswani et al. 2017, section 3.2.2), with any mechanism in its heads."""

import functools
from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from core.attention.base import Attention, AttentionFactory, Prepared, build, check_mask


class MultiHeadAttention(Attention):
    """Projects queries, keys and values, lets a mechanism attend in every head, and projects what the heads found.

    Weights are `*B H Q K`: one map a head. Masks have no head axis; it is inserted here. No projection has a bias:
    an output bias would make a row that attends to nothing differ from zero, and a key bias never gets a gradient.

    Raises:
        ValueError: if `query_dim` does not divide by `heads`.
    """

    def __init__(
        self,
        mechanism: Attention | AttentionFactory,
        *,
        query_dim: int,
        key_dim: int | None = None,
        heads: int,
        value_dim: int | None = None,
    ) -> None:
        super().__init__()
        if heads < 1 or query_dim % heads:
            raise ValueError(f"the width of a multi-head attention must divide by its heads; got {query_dim} / {heads}")
        key_dim, head_dim = key_dim or query_dim, query_dim // heads
        self.heads = heads
        self.mechanism = build(mechanism, query_dim=head_dim, key_dim=head_dim, heads=heads)
        self.reads_query, self.looks_back = self.mechanism.reads_query, self.mechanism.looks_back
        self.query_projection = projection(query_dim, query_dim)
        self.key_projection = projection(key_dim, query_dim)
        self.value_projection = projection(value_dim or key_dim, query_dim)
        self.output_projection = projection(query_dim, query_dim)

    def prepare(self, keys: Float[Tensor, "*B K _"], values: Float[Tensor, "*B K E"]) -> Prepared:
        return self.mechanism.prepare(self.split(self.key_projection(keys)), self.split(self.value_projection(values)))

    def mix(self, query: Tensor, prepared: Prepared, mask: Tensor | None, first: int) -> Tensor:
        heads = self.mechanism.mix(self.split(self.query_projection(query)), prepared, with_head_axis(mask), first)
        return self.output_projection(heads.transpose(-3, -2).flatten(-2))

    def weights(
        self,
        query: Float[Tensor, "*B Q _"],
        keys: Float[Tensor, "*B K _"] | Prepared,
        mask: Tensor | None = None,
        *,
        first: int = 0,
    ) -> Float[Tensor, "*B H Q K"]:
        query = self.split(self.query_projection(query))
        if not isinstance(keys, Prepared):
            keys = self.split(self.key_projection(keys))
        mask = with_head_axis(check_mask(mask, query[..., 0, :, :], keys))
        return self.mechanism.weights(query, keys, mask, first=first)

    def onward(self, query: Tensor, prepared: Prepared, mask: Tensor | None = None, *, first: int = 0) -> Prepared:
        if not self.looks_back:
            return prepared
        query = self.split(self.query_projection(query))
        return self.mechanism.onward(query, prepared, with_head_axis(mask), first=first)

    def split(self, inputs: Float[Tensor, "*B T D"]) -> Float[Tensor, "*B H T _"]:
        return inputs.unflatten(-1, (self.heads, -1)).transpose(-3, -2)


def multi_head(attention: AttentionFactory, *, width: int, heads: int) -> Attention:
    """Multi-head attention over what `attention` makes, or just what it makes if that is multi-head already."""
    if makes_heads(attention):
        return attention(query_dim=width, key_dim=width, heads=heads)
    return MultiHeadAttention(attention, query_dim=width, heads=heads)


def bare(attention: AttentionFactory, *, width: int, heads: int) -> Attention:
    """What `attention` makes, by itself; `heads` count only where that is multi-head."""
    return attention(query_dim=width, key_dim=width, heads=heads if makes_heads(attention) else 1)


def makes_heads(attention: Callable[..., nn.Module]) -> bool:
    return (attention.func if isinstance(attention, functools.partial) else attention) is MultiHeadAttention


def with_head_axis(mask: Tensor | None) -> Tensor | None:
    """`*B Q K` -> `*B 1 Q K`. Without it a `(B, 1, K)` mask would, where B = H, mask by head and say nothing."""
    return mask if mask is None or mask.dim() < 3 else mask.unsqueeze(-3)


def projection(inputs: int, outputs: int) -> nn.Linear:
    linear = nn.Linear(inputs, outputs, bias=False)
    nn.init.xavier_uniform_(linear.weight)
    return linear
