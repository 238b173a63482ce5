"""Max pooling: what pooled words before attention did."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


class MaxPooling(nn.Module):
    """The largest number of every feature over the words (Collobert et al. 2011): each feature may come from another
    word, so there are no weights of words, and no map."""

    def __init__(self, *, query_dim: int | None = None, key_dim: int | None = None, heads: int = 1) -> None:
        super().__init__()

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B 1 T"]) -> Float[Tensor, "B D"]:
        """`mask` is True for the words that are there; each row has at least one."""
        lowest = torch.finfo(inputs.dtype).min
        return inputs.masked_fill(~mask.transpose(-2, -1), lowest).amax(dim=-2)
