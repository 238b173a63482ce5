"""Constant scores: every key alike. What is left of attention once it may choose nothing."""

from jaxtyping import Float
from torch import Tensor

from core.attention.base import ScoreAttention


class MeanAttention(ScoreAttention):
    """score = 0: the mean of all keys that may be attended. A yardstick without parameters: what choosing adds."""

    reads_query = False

    def __init__(
        self, *, query_dim: int | None = None, key_dim: int | None = None, heads: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__(dropout=dropout)

    def compare(
        self, query: Float[Tensor, "*B Q _"], keys: Float[Tensor, "*B K _"], mask: Tensor | None, *, first: int
    ) -> Float[Tensor, "*B Q K"]:
        return query.new_zeros(*query.shape[:-1], keys.shape[-2])
