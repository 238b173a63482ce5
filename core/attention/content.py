"""Content-based attention (Graves et al. 2014, "Neural Turing Machines", equation 5)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention.base import per_head, precise, require_equal_widths
from core.attention.cosine import unit
from core.attention.dot_form import DotFormAttention


class ContentBasedAttention(DotFormAttention):
    """score = strength(q) * cos(q, k): the query says where to look, and by a positive key strength how sharply.

    The strength is 1 + softplus(w . q + b), as in the paper's released code: never so small that nothing is learned.
    """

    def __init__(self, *, query_dim: int, key_dim: int | None = None, heads: int = 1, dropout: float = 0.0) -> None:
        super().__init__(dropout=dropout)
        require_equal_widths(type(self).__name__, query_dim, key_dim)
        self.strength_weight = nn.Parameter(torch.randn(heads, query_dim, 1) * query_dim**-0.5)
        self.strength_bias = nn.Parameter(torch.full((heads, 1, 1), 5.0))

    def strength(self, query: Float[Tensor, "*B Q D"]) -> Float[Tensor, "*B Q 1"]:
        """How sharply each query looks: a number above 1."""
        query = precise(query)
        logits = query @ per_head(self.strength_weight, query) + per_head(self.strength_bias, query)
        return 1.0 + F.softplus(logits)

    def ask(self, query: Float[Tensor, "*B Q D"]) -> Float[Tensor, "*B Q D"]:
        return unit(query) * self.strength(query)

    def read(self, keys: Float[Tensor, "*B K D"]) -> Float[Tensor, "*B K D"]:
        return unit(keys)
