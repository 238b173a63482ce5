"""Attention by place: a learned weight for each relative position, alone or beside any other score
(Shaw et al. 2018, section 3.2, for the clipping; Raffel et al. 2020, section 2.1, for the scalar bias)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from core.attention.base import Attention, AttentionFactory, ScoreAttention, build, per_head


class RelativeBias(nn.Module):
    """One learned number for each relative position from -max_distance to max_distance; farther ones share the ends.

    So it works at any length, also at lengths never trained on.
    """

    def __init__(self, *, heads: int, max_distance: int) -> None:
        super().__init__()
        if max_distance < 1:
            raise ValueError(f"max_distance must be at least 1; got {max_distance}")
        self.max_distance = max_distance
        self.bias = nn.Parameter(torch.zeros(heads, 2 * max_distance + 1))

    def forward(self, queries: int, keys: int, *, first: int, like: Tensor) -> Float[Tensor, "... Q K"]:
        places = torch.arange(first, first + queries, device=like.device)
        distance = torch.arange(keys, device=like.device) - places[:, None]
        index = distance.clamp(-self.max_distance, self.max_distance) + self.max_distance
        return per_head(self.bias, like)[..., index]


class PositionBasedAttention(ScoreAttention):
    """score = b[k - q]: relative position alone. What queries and keys contain is not read."""

    reads_query = False

    def __init__(
        self,
        *,
        query_dim: int | None = None,
        key_dim: int | None = None,
        heads: int = 1,
        max_distance: int = 16,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout=dropout)
        self.relative = RelativeBias(heads=heads, max_distance=max_distance)

    def compare(
        self, query: Float[Tensor, "*B Q _"], keys: Float[Tensor, "*B K _"], mask: Tensor | None, *, first: int
    ) -> Float[Tensor, "*B Q K"]:
        bias = self.relative(query.shape[-2], keys.shape[-2], first=first, like=query)
        return bias.expand(*query.shape[:-2], *bias.shape[-2:])


class WithPosition(ScoreAttention):
    """score = s(q, k) + b[k - q]: any score, and a bias for the relative position. Content and place together."""

    def __init__(
        self,
        mechanism: Attention | AttentionFactory,
        *,
        query_dim: int | None = None,
        key_dim: int | None = None,
        heads: int = 1,
        max_distance: int = 16,
    ) -> None:
        super().__init__()
        self.mechanism = require_scores(type(self).__name__, mechanism, query_dim, key_dim, heads)
        self.dropout, self.pair_width = self.mechanism.dropout, self.mechanism.pair_width
        self.reads_query = self.mechanism.reads_query
        self.relative = RelativeBias(heads=heads, max_distance=max_distance)

    def read(self, keys: Float[Tensor, "*B K _"]) -> Float[Tensor, "*B K _"]:
        return self.mechanism.read(keys)

    def compare(
        self, query: Float[Tensor, "*B Q _"], keys: Float[Tensor, "*B K _"], mask: Tensor | None, *, first: int
    ) -> Float[Tensor, "*B Q K"]:
        scores = self.mechanism.compare(query, keys, mask, first=first)
        return scores + self.relative(query.shape[-2], keys.shape[-2], first=first, like=query)


def require_scores(
    name: str, mechanism: Attention | AttentionFactory, query_dim: int | None, key_dim: int | None, heads: int
) -> ScoreAttention:
    """The mechanism built, once it is sure to have scores that something can be added to.

    Raises:
        TypeError: if it has none, as local and multi-head attention, which are made of mechanisms themselves.
    """
    built = build(mechanism, query_dim=query_dim, key_dim=key_dim, heads=heads)
    if not isinstance(built, ScoreAttention):
        inner = type(built).__name__
        raise TypeError(f"{name} adds to a score, and {inner} has none: write {inner}({name}(...)) instead.")
    return built
