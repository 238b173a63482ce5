"""Attention pooling: a sequence becomes one vector (Yang et al. 2016, equations 5 to 7)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from core.attention.base import Attention, AttentionFactory, build


class AttentionPooling(nn.Module):
    """Attends with one learned query and drops its axis: (32, 10, 128) -> (32, 128).

    The query is made only if the mechanism reads one, and unconditional attention does not. To pool with several
    heads, give it a multi-head attention.
    """

    def __init__(self, mechanism: Attention | AttentionFactory, *, width: int) -> None:
        super().__init__()
        self.attention = build(mechanism, query_dim=width, key_dim=width)
        self.query = nn.Parameter(torch.randn(1, width) * width**-0.5) if self.attention.reads_query else None

    def forward(self, inputs: Float[Tensor, "*B T D"], mask: Tensor | None = None) -> Float[Tensor, "*B D"]:
        """`mask` is bool and says what may be read: `*B 1 T`, as for every attention."""
        width = inputs.shape[-1]
        query = inputs.new_zeros(1, width) if self.query is None else self.query.to(inputs.dtype)
        return self.attention(query.expand(*inputs.shape[:-2], 1, width), inputs, inputs, mask).squeeze(-2)
