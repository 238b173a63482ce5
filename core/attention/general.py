"""General attention: a bilinear form (Luong et al. 2015, section 3.1, "general")."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from core.attention.base import per_head
from core.attention.dot_form import DotFormAttention


class GeneralAttention(DotFormAttention):
    """score = q W k / sqrt(D), D the width of keys; queries and keys may differ in width.

    The paper writes q W k: its W is this one divided by sqrt(D). With the factor in front, W is as large as any other
    matrix, and an optimiser that takes steps of one size for all weights, such as Adam, does not overshoot in it.
    """

    def __init__(self, *, query_dim: int, key_dim: int, heads: int = 1, dropout: float = 0.0) -> None:
        super().__init__(dropout=dropout)
        # Scores of unit variance at the start, whatever the widths: the softmax begins soft.
        self.weight = nn.Parameter(torch.randn(heads, query_dim, key_dim) * query_dim**-0.5)

    def ask(self, query: Float[Tensor, "*B Q _"]) -> Float[Tensor, "*B Q D"]:
        return query @ per_head(self.weight, query) * self.weight.shape[-1] ** -0.5
