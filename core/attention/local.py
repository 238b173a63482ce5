"""Local attention: only keys near by may be seen (Luong et al. 2015, section 3.2, "local-m"; Beltagy et al. 2020,
"Longformer", for the window over self-attention)."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from core.attention.base import Attention, AttentionFactory, Prepared, build, check_mask
from core.attention.local_predictive import PredictiveLocalAttention
from core.masks import local


class LocalAttention(Attention):
    """Any mechanism in a window around the diagonal: query q sees the keys q - before to q + after.

    `before` and `after` are radii in tokens, and the window slides by token. Causal is `after=0`. Where the mask is
    None or over keys alone, time and memory grow with length x window; another mask takes the dense road, and so do
    sequences not much longer than the window, and mechanisms that look back.

    Raises:
        ValueError: if `before` or `after` is below 0.
        TypeError: if the mechanism places a window by itself, which it cannot do in a stretch of the keys.
    """

    def __init__(
        self,
        mechanism: Attention | AttentionFactory,
        *,
        query_dim: int | None = None,
        key_dim: int | None = None,
        heads: int = 1,
        before: int = 4,
        after: int = 4,
    ) -> None:
        super().__init__()
        if before < 0 or after < 0:
            raise ValueError(f"LocalAttention needs before and after of at least 0; got {before} and {after}")
        self.mechanism = build(mechanism, query_dim=query_dim, key_dim=key_dim, heads=heads)
        if any(isinstance(part, PredictiveLocalAttention) for part in self.mechanism.modules()):
            raise TypeError(
                "PredictiveLocalAttention is local by itself, and must see all keys: use it without LocalAttention."
            )
        self.reads_query, self.looks_back = self.mechanism.reads_query, self.mechanism.looks_back
        self.before, self.after = before, after

    def prepare(self, keys: Float[Tensor, "*B K _"], values: Float[Tensor, "*B K E"]) -> Prepared:
        return self.mechanism.prepare(keys, values)

    def weights(
        self,
        query: Float[Tensor, "*B Q _"],
        keys: Float[Tensor, "*B K _"] | Prepared,
        mask: Tensor | None = None,
        *,
        first: int = 0,
    ) -> Float[Tensor, "*B Q K"]:
        mask = check_mask(mask, query, keys)
        length = (keys.keys if isinstance(keys, Prepared) else keys).shape[-2]
        return self.mechanism.weights(query, keys, self.window(query, length, mask, first), first=first)

    def onward(self, query: Tensor, prepared: Prepared, mask: Tensor | None = None, *, first: int = 0) -> Prepared:
        keys = prepared.keys.shape[-2]
        return self.mechanism.onward(query, prepared, self.window(query, keys, mask, first), first=first)

    def window(self, query: Tensor, keys: int, mask: Tensor | None, first: int) -> Tensor:
        """The mask with the window in it."""
        near = local(query.shape[-2], keys, self.before, self.after, first=first, device=query.device)
        return near if mask is None else near & mask

    def mix(self, query: Tensor, prepared: Prepared, mask: Tensor | None, first: int) -> Tensor:
        queries, keys = query.shape[-2], prepared.keys.shape[-2]
        block = max(1, min(queries, self.before + self.after))
        pairs = queries * (block + self.before + self.after)
        dense = self.looks_back or (mask is not None and mask.shape[-2:-1] not in ((), (1,)))
        if dense or queries * keys <= pairs:
            return self.mechanism.mix(query, prepared, self.window(query, keys, mask, first), first)
        mask = torch.ones(1, keys, dtype=torch.bool, device=query.device) if mask is None else torch.atleast_2d(mask)
        return self.mix_blocks(query, prepared, mask.expand(*mask.shape[:-1], keys), first, block)

    def mix_blocks(self, query: Tensor, prepared: Prepared, mask: Tensor, first: int, block: int) -> Tensor:
        """The fast road: queries in blocks, each block beside the stretch of keys that it can see.

        The blocks are a new leading axis, in front of all others, so a mechanism with parameters for each head
        finds its heads where it expects them.
        """
        queries = query.shape[-2]
        blocks, reach, start = -(-queries // block), block + self.before + self.after, first - self.before
        near = local(block, reach, self.before, self.after, first=self.before, device=query.device)
        seen = stretches(mask.transpose(-2, -1), start, block, reach, blocks).transpose(-2, -1)
        seen = seen.reshape(blocks, *[1] * (query.dim() - mask.dim()), *seen.shape[1:])
        mixed = self.mechanism.mix(
            stretches(query, 0, block, block, blocks),
            Prepared(*(stretches(tensor, start, block, reach, blocks) for tensor in prepared)),
            near & seen,
            self.before,
        )
        return torch.cat(mixed.unbind(0), dim=-2)[..., :queries, :]


def stretches(tensor: Tensor, start: int, step: int, length: int, count: int) -> Tensor:
    """`*B T D` -> `count *B length D`: stretch n holds the places from start + n * step; places outside hold zeros."""
    stop = start + (count - 1) * step + length
    padded = F.pad(tensor, (0, 0, max(0, -start), max(0, stop - tensor.shape[-2])))
    windows = padded[..., max(0, start) :, :].unfold(-2, length, step)[..., :count, :, :]
    return windows.movedim(-3, 0).transpose(-2, -1)
