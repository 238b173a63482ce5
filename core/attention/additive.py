"""Additive attention (Bahdanau et al. 2015, appendix A.1.2)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from core.attention.base import ScoreAttention, per_head


class AdditiveAttention(ScoreAttention):
    """score = v . tanh(W q + U k): a small network looks at both; queries and keys may differ in width.

    `hidden` is the width of that network, as wide as the keys unless said.
    """

    def __init__(
        self, *, query_dim: int, key_dim: int, heads: int = 1, hidden: int | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__(dropout=dropout)
        hidden = hidden or key_dim
        self.pair_width = hidden
        self.query_weight = nn.Parameter(torch.randn(heads, query_dim, hidden) * query_dim**-0.5)
        self.key_weight = nn.Parameter(torch.randn(heads, key_dim, hidden) * key_dim**-0.5)
        self.score_weight = nn.Parameter(torch.randn(heads, hidden, 1) * hidden**-0.5)

    def read(self, keys: Float[Tensor, "*B K _"]) -> Float[Tensor, "*B K D"]:
        return keys @ per_head(self.key_weight, keys)

    def compare(
        self, query: Float[Tensor, "*B Q _"], keys: Float[Tensor, "*B K D"], mask: Tensor | None, *, first: int
    ) -> Float[Tensor, "*B Q K"]:
        asked = query @ per_head(self.query_weight, query)
        pairs = torch.tanh(asked.unsqueeze(-2) + keys.unsqueeze(-3))
        score_weight = per_head(self.score_weight, query)
        # One more axis than a head's parameter has: "H D 1" meets "*B H Q K D" as "H 1 D 1".
        return (pairs @ (score_weight.unsqueeze(-3) if score_weight.dim() > 2 else score_weight)).squeeze(-1)
