"""Dot-product attention (Luong et al. 2015, section 3.1, "dot")."""

from jaxtyping import Float
from torch import Tensor

from core.attention.base import require_equal_widths
from core.attention.dot_form import DotFormAttention


class DotProductAttention(DotFormAttention):
    """score = q . k

    Raises:
        ValueError: if queries and keys differ in width, naming both.
    """

    def __init__(
        self, *, query_dim: int | None = None, key_dim: int | None = None, heads: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__(dropout=dropout)
        require_equal_widths(type(self).__name__, query_dim, key_dim)

    def ask(self, query: Float[Tensor, "*B Q D"]) -> Float[Tensor, "*B Q D"]:
        return query
