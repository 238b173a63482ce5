"""Unconditional attention: what is worth looking at, whoever asks (Yang et al. 2016 and Lin et al. 2017 pool so)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from core.attention.base import ScoreAttention, per_head


class UnconditionalAttention(ScoreAttention):
    """score = w . k: the key alone. Every query of a sequence gets the same weights."""

    reads_query = False

    def __init__(self, *, query_dim: int | None = None, key_dim: int, heads: int = 1, dropout: float = 0.0) -> None:
        super().__init__(dropout=dropout)
        self.weight = nn.Parameter(torch.randn(heads, key_dim, 1) * key_dim**-0.5)

    def read(self, keys: Float[Tensor, "*B K D"]) -> Float[Tensor, "*B K 1"]:
        return keys @ per_head(self.weight, keys)

    def compare(
        self, query: Float[Tensor, "*B Q _"], keys: Float[Tensor, "*B K 1"], mask: Tensor | None, *, first: int
    ) -> Float[Tensor, "*B Q K"]:
        return keys.transpose(-2, -1).expand(*query.shape[:-1], keys.shape[-2])
