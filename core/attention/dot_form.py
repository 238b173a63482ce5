"""Scores that are a dot product of transformed queries and keys, and the fused kernel that such scores may take."""

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from core.attention.base import Prepared, ScoreAttention, require_equal_widths


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
        if (self.training and self.dropout > 0) or not fused_pays(*prepared):
            return super().mix(query, prepared, mask, first)
        asked = self.ask(query)
        require_equal_widths(type(self).__name__, asked.shape[-1], prepared.keys.shape[-1])
        return fused(asked, *prepared, mask)


def fused_pays(keys: Tensor, values: Tensor) -> bool:
    """Whether the fused kernel can take this: values of another width would send torch down its own slow path."""
    return keys.shape[-1] == values.shape[-1]


def fused(
    query: Float[Tensor, "*B Q D"], keys: Float[Tensor, "*B K D"], values: Float[Tensor, "*B K D"], mask: Tensor | None
) -> Float[Tensor, "*B Q D"]:
    """softmax(q . k) @ v by torch's fused kernel; leading axes become the two that the kernel knows."""
    leading = query.shape[:-2]
    if mask is not None:
        # The kernel takes masks of two axes or of four; the second of four need not be as many as the heads.
        mask = four_axes(mask.expand(*leading[:-1], *mask.shape[-3:])) if mask.dim() > 2 else torch.atleast_2d(mask)
    dtype = product_type(values)
    inner = kernel_type(dtype, values.device.type)
    query, keys, values = (four_axes(tensor.to(inner)) for tensor in (query, keys, values))
    with torch.autocast(query.device.type, enabled=False):
        mixed = F.scaled_dot_product_attention(query, keys, values, mask, scale=1.0)
    return mixed.to(dtype).reshape(*leading, *mixed.shape[-2:])


def product_type(values: Tensor) -> torch.dtype:
    """The type of a matrix product with these values: autocast's, where it is on."""
    autocast = torch.is_autocast_enabled(values.device.type) and values.dtype != torch.float64
    return torch.get_autocast_dtype(values.device.type) if autocast else values.dtype


def kernel_type(dtype: torch.dtype, device: str) -> torch.dtype:
    """The type for the kernel: at least float32 to train on a CPU, where its backward pass in half precision is slow.

    (For 2,048 tokens in sequences of 16 to 128, five to two times as slow; `scripts/bench.py roads` measures it.)
    """
    return torch.promote_types(dtype, torch.float32) if device == "cpu" and torch.is_grad_enabled() else dtype


def four_axes(tensor: Tensor) -> Tensor:
    """`*B K D` as `B H K D`: missing leading axes are made, surplus ones flattened."""
    while tensor.dim() < 4:
        tensor = tensor.unsqueeze(-3)
    return tensor.flatten(0, -4)
