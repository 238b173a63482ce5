"""Scaled dot-product attention (Vaswani et al. 2017, equation 1)."""

from jaxtyping import Float
from torch import Tensor

from core.attention.dot import DotProductAttention


class ScaledDotProductAttention(DotProductAttention):
    """score = q . k / sqrt(D), so that scores of wide vectors do not drive the softmax into its flat ends."""

    def ask(self, query: Float[Tensor, "*B Q D"]) -> Float[Tensor, "*B Q D"]:
        return query * query.shape[-1] ** -0.5
