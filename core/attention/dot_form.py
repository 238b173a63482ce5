"""Scores that are a dot product of transformed queries and keys, and the fused kernel that such scores may take."""

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from core.attention.base import Prepared, ScoreAttention, require_equal_widths

SHORT = 64
"""Below this many keys, training in half precision goes by the explicit road."""


class DotFormAttention(ScoreAttention):
    """score = q' . k', with q' read off the query (`ask`) and k' off the key (`read`).

    Such a score takes torch's fused `scaled_dot_product_attention`, which never holds the weights.
    """

    @abstractmethod
    def ask(self, query: Float[Tensor, "*B Q D"]) -> Float[Tensor, "*B Q _"]:
        """q': what the query brings to the dot product."""

    def compare(
        self, query: Float[Tensor, "*B Q _"], keys: Float[Tensor, "*B K _"], mask: Tensor | None, *, first: int
    ) -> Float[Tensor, "*B Q K"]:
        asked = self.ask(query)
        require_equal_widths(type(self).__name__, asked.shape[-1], keys.shape[-1])
        return asked @ keys.transpose(-2, -1)

    def mix(self, query: Tensor, prepared: Prepared, mask: Tensor | None, first: int) -> Tensor:
        if (self.training and self.dropout > 0) or not fused_pays(query, *prepared):
            return super().mix(query, prepared, mask, first)
        asked = self.ask(query)
        require_equal_widths(type(self).__name__, asked.shape[-1], prepared.keys.shape[-1])
        return fused(asked, *prepared, mask)


def fused_pays(query: Tensor, keys: Tensor, values: Tensor) -> bool:
    """Whether the fused kernel is the faster road here: one rule by length and type, no timing at run time.

    Values of another width than the keys would send torch down its own slow path, silently. The kernel's backward
    pass in half precision is slow for short sequences.
    """
    half = query.dtype in (torch.bfloat16, torch.float16) or torch.is_autocast_enabled(query.device.type)
    slow_backward = half and torch.is_grad_enabled() and keys.shape[-2] < SHORT
    return keys.shape[-1] == values.shape[-1] and not slow_backward


def fused(
    query: Float[Tensor, "*B Q D"], keys: Float[Tensor, "*B K D"], values: Float[Tensor, "*B K D"], mask: Tensor | None
) -> Float[Tensor, "*B Q D"]:
    """softmax(q . k) @ v by torch's fused kernel; leading axes become the two that the kernel knows."""
    leading = query.shape[:-2]
    if mask is not None:
        # The kernel takes masks of two axes or of four.
        mask = four_axes(mask.expand(*leading, *mask.shape[-2:])) if mask.dim() > 2 else torch.atleast_2d(mask)
    query, keys, values = (four_axes(tensor) for tensor in (query.to(values.dtype), keys.to(values.dtype), values))
    mixed = F.scaled_dot_product_attention(query, keys, values, mask, scale=1.0)
    return mixed.reshape(*leading, *mixed.shape[-2:])


def four_axes(tensor: Tensor) -> Tensor:
    """`*B K D` as `B H K D`: missing leading axes are made, surplus ones flattened."""
    while tensor.dim() < 4:
        tensor = tensor.unsqueeze(-3)
    return tensor.flatten(0, -4)
