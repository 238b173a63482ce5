"""Cosine attention: the similarity of directions alone (Graves et al. 2014, equation 6; learned scale as in
Liu et al. 2022, "Swin Transformer V2", equation 2)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from core.attention.base import per_head, precise, require_equal_widths
from core.attention.dot_form import DotFormAttention

EPSILON = 1e-6
"""Added to squared lengths: the cosine with a zero vector is 0 and its gradient stays below 1,000."""


class CosineAttention(DotFormAttention):
    """score = temperature * cos(q, k), with a learned positive temperature for each head.

    The larger the temperature, the sharper the weights: scores lie between plus and minus the temperature.
    """

    def __init__(
        self,
        *,
        query_dim: int | None = None,
        key_dim: int | None = None,
        heads: int = 1,
        temperature: float = 10.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout=dropout)
        require_equal_widths(type(self).__name__, query_dim, key_dim)
        if temperature <= 0:
            raise ValueError(f"CosineAttention needs a temperature above 0; got {temperature}")
        self.log_temperature = nn.Parameter(torch.full((heads, 1, 1), math.log(temperature)))

    def ask(self, query: Float[Tensor, "*B Q D"]) -> Float[Tensor, "*B Q D"]:
        directions = unit(query)
        return directions * per_head(self.log_temperature, directions).exp()

    def read(self, keys: Float[Tensor, "*B K D"]) -> Float[Tensor, "*B K D"]:
        return unit(keys)


def unit(vectors: Float[Tensor, "*B T D"]) -> Float[Tensor, "*B T D"]:
    """Vectors of length 1, in at least float32; a zero vector stays zero and has a finite gradient."""
    vectors = precise(vectors)
    return vectors * (vectors.square().sum(-1, keepdim=True) + EPSILON).rsqrt()
