"""Local attention around a predicted centre (Luong et al. 2015, section 3.2, "local-p", equations 9 and 10)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention.base import Attention, AttentionFactory, ScoreAttention, per_head
from core.attention.position import require_scores


class PredictiveLocalAttention(ScoreAttention):
    """Any score in a window whose centre is predicted from the query: p = S * sigmoid(v . tanh(W q)).

    Keys farther than `window` from p are out of sight, and nearer ones lose (k - p)^2 / (2 sigma^2), with sigma half
    the window. This logarithm of the paper's Gaussian is added before the softmax, so rows still sum to 1; the paper
    multiplies after it. S, the length of the sequence, is read off the mask, so padding cannot move the centre.
    """

    def __init__(
        self,
        mechanism: Attention | AttentionFactory,
        *,
        query_dim: int,
        key_dim: int | None = None,
        heads: int = 1,
        window: int = 4,
    ) -> None:
        super().__init__()
        if window < 1:
            raise ValueError(f"PredictiveLocalAttention needs a window of at least 1; got {window}")
        self.mechanism = require_scores(type(self).__name__, mechanism, query_dim, key_dim, heads)
        self.dropout, self.pair_width = self.mechanism.dropout, self.mechanism.pair_width
        self.window = window
        self.query_weight = nn.Parameter(torch.randn(heads, query_dim, query_dim) * query_dim**-0.5)
        self.centre_weight = nn.Parameter(torch.randn(heads, query_dim, 1) * query_dim**-0.5)

    def read(self, keys: Float[Tensor, "*B K _"]) -> Float[Tensor, "*B K _"]:
        return self.mechanism.read(keys)

    def centre(self, query: Float[Tensor, "*B Q _"], lengths: Tensor) -> Float[Tensor, "*B Q 1"]:
        """p: where on the key axis each query looks, between 0 and the length."""
        hidden = torch.tanh(query @ per_head(self.query_weight, query))
        return lengths * torch.sigmoid(hidden @ per_head(self.centre_weight, query))

    def compare(
        self, query: Float[Tensor, "*B Q _"], keys: Float[Tensor, "*B K _"], mask: Tensor | None, *, first: int
    ) -> Float[Tensor, "*B Q K"]:
        scores = self.mechanism.compare(query, keys, mask, first=first)
        places = torch.arange(keys.shape[-2], device=query.device)
        lengths = places.new_tensor(keys.shape[-2])
        if mask is not None:
            # A zero in front, so that there is a largest place also where there are no keys.
            lengths = F.pad((places + 1) * mask, (1, 0)).amax(-1, keepdim=True)
        distance = places - self.centre(query, lengths)
        gaussian = -2.0 * (distance / self.window).square()
        return (scores + gaussian).masked_fill(distance.abs() > self.window, -torch.inf)
