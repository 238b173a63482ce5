"""Location-aware attention (Chorowski et al. 2015, "Attention-based models for speech recognition", equation 9)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention.base import Attention, Prepared, check_mask, mask_rows, masked_softmax, per_head, precise


class Followed(Prepared):
    """Keys and values, where the last number of each key is the weight that the query before gave it."""

    def follow(self, rows: Int[Tensor, " N"]) -> "Followed":
        return Followed(*(part.index_select(0, rows) for part in self))


class LocationAttention(Attention):
    """score = v . tanh(W q + U k + V f): additive attention that also reads where the query before looked.

    f are `filters` convolutions of that query's weights, `2 * reach + 1` keys wide, around each key: so a gaze can go
    on from where it was. The first query of all follows nothing, which reads as zeros. Queries are taken one by one;
    a step loop carries on with what `onward` returns in place of the prepared keys.

    Raises:
        ValueError: if `filters` is below 1 or `reach` below 0.
    """

    looks_back = True

    def __init__(
        self,
        *,
        query_dim: int,
        key_dim: int,
        heads: int = 1,
        hidden: int | None = None,
        filters: int = 10,
        reach: int = 7,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout=dropout)
        if filters < 1 or reach < 0:
            raise ValueError(f"LocationAttention needs filters of at least 1 and reach of at least 0; got {filters} "
                             f"and {reach}")  # fmt: skip
        hidden = hidden or key_dim
        self.pair_width, self.reach = hidden, reach
        width = 2 * reach + 1
        self.query_weight = nn.Parameter(torch.randn(heads, query_dim, hidden) * query_dim**-0.5)
        self.key_weight = nn.Parameter(torch.randn(heads, key_dim, hidden) * key_dim**-0.5)
        self.filter_weight = nn.Parameter(torch.randn(heads, width, filters) * width**-0.5)
        self.location_weight = nn.Parameter(torch.randn(heads, filters, hidden) * filters**-0.5)
        self.score_weight = nn.Parameter(torch.randn(heads, hidden, 1) * hidden**-0.5)

    def prepare(self, keys: Float[Tensor, "*B K _"], values: Float[Tensor, "*B K E"]) -> Followed:
        read = precise(keys @ per_head(self.key_weight, keys))
        return Followed(F.pad(read, (0, 1)), values)

    def weights(
        self,
        query: Float[Tensor, "*B Q _"],
        keys: Float[Tensor, "*B K _"] | Prepared,
        mask: Tensor | None = None,
        *,
        first: int = 0,
    ) -> Float[Tensor, "*B Q K"]:
        mask = check_mask(mask, query, keys)
        known = keys.keys if isinstance(keys, Prepared) else self.prepare(keys, keys).keys
        with torch.autocast(query.device.type, enabled=False):
            known, asked = precise(known), precise(query)
            asked = asked @ per_head(self.query_weight, asked)
            read, before = known[..., :-1], known[..., None, :, -1]
            placing = per_head(self.filter_weight, asked) @ per_head(self.location_weight, asked)
            weighing = per_head(self.score_weight, asked)
            looks = [asked.new_zeros(*asked.shape[:-2], 0, read.shape[-2])]
            if not read.shape[-2]:
                return asked.new_zeros(*asked.shape[:-1], 0)
            for place in range(query.shape[-2]):
                around = F.pad(before.squeeze(-2), (self.reach, self.reach)).unfold(-1, 2 * self.reach + 1, 1)
                pairs = torch.tanh(asked[..., place : place + 1, :] + read + around @ placing)
                scores = (pairs @ weighing).transpose(-2, -1)
                before = masked_softmax(scores, mask_rows(mask, place, 1))
                looks.append(before)
        return torch.cat(looks, dim=-2)

    @torch.no_grad()
    def onward(self, query: Tensor, prepared: Prepared, mask: Tensor | None = None, *, first: int = 0) -> Prepared:
        """With where the last of these queries looked; gradients do not go back through it."""
        if not query.shape[-2]:
            return prepared
        look = self.weights(query, prepared, mask, first=first)[..., -1, :, None]
        return Followed(torch.cat([prepared.keys[..., :-1], look.to(prepared.keys.dtype)], dim=-1), prepared.values)

    def chunk_rows(self, query: Tensor, keys: Tensor) -> int:
        """All of them: each query needs the one before."""
        return max(1, query.shape[-2])
