"""What every attention mechanism is: weights to look at, and a weighted sum of values to go on with."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

CHUNK = 2**22
"""How many numbers the explicit road holds at once (16 MiB in float32); past it, queries go in chunks.

Larger ones are no faster: the memory is asked of the system anew each time."""


class Prepared(NamedTuple):
    """What a mechanism needs of keys and values, computed once: the only cache, and the caller holds it."""

    keys: Float[Tensor, "*B K D"]
    values: Float[Tensor, "*B K E"]

    def extend(self, later: "Prepared") -> "Prepared":
        """These keys followed by `later` ones: how a key/value cache grows."""
        return type(self)(*(torch.cat(pair, dim=-2) for pair in zip(self, later, strict=True)))

    def follow(self, rows: Int[Tensor, " N"]) -> "Prepared":
        """For rows that go on from rows of the same source: these, unless they also hold what was looked at so far."""
        return self


class Attention(nn.Module, ABC):
    """A distribution over keys for every query.

    Masks are bool, True = may attend, broadcastable to `*B Q K`, without a head axis. A query that may attend to
    nothing gets weights and an output of exactly 0. `first` is the place of query 0 on the key axis: a step loop
    passes its step, so that position-based and local attention see what they saw in training.

    What is masked has no influence while it is finite. A masked key or value that is NaN or infinite still spreads,
    since 0 x NaN is NaN: keep padding finite.

    Attention dropout acts in `forward` while training, never on the weights that `weights` returns.
    """

    pair_width = 1
    """How many numbers one pair of a query and a key takes while it is scored; sets the size of a chunk."""

    reads_query = True
    """Whether the weights depend on what the query contains."""

    looks_back = False
    """Whether the weights of a query depend on those of the query before it."""

    def __init__(self, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout

    @abstractmethod
    def weights(
        self,
        query: Float[Tensor, "*B Q _"],
        keys: Float[Tensor, "*B K _"] | Prepared,
        mask: Tensor | None = None,
        *,
        first: int = 0,
    ) -> Float[Tensor, "*B Q K"]:
        """What anyone looks at: at least float32, each row sums to 1, or is exactly 0 where nothing may be attended."""

    def prepare(self, keys: Float[Tensor, "*B K _"], values: Float[Tensor, "*B K E"]) -> Prepared:
        """What depends on keys and values alone; `forward` and `weights` accept it in place of the keys."""
        return Prepared(keys, values)

    def onward(self, query: Tensor, prepared: Prepared, mask: Tensor | None = None, *, first: int = 0) -> Prepared:
        """What the queries after these take in place of `prepared`: the same, unless a mechanism looks back."""
        return prepared

    def forward(
        self,
        query: Float[Tensor, "*B Q _"],
        keys: Float[Tensor, "*B K _"] | Prepared,
        values: Float[Tensor, "*B K _"] | None = None,
        mask: Tensor | None = None,
        *,
        first: int = 0,
    ) -> Float[Tensor, "*B Q E"]:
        """weights @ values, by the explicit road."""
        return self.mix(query, self.prepared(keys, values), check_mask(mask, query, keys), first)

    def prepared(self, keys: Tensor | Prepared, values: Tensor | None) -> Prepared:
        """`keys` where they were prepared before, and else what `prepare` makes of them.

        Raises:
            TypeError: if there are no values, or values beside prepared ones: most likely a mask without its name.
        """
        if isinstance(keys, Prepared):
            if values is not None:
                raise TypeError("forward() got values beside prepared keys, which hold them; pass a mask as mask=...")
            return keys
        if values is None:
            raise TypeError("forward() got keys but no values: pass both, or what prepare(keys, values) returned")
        return self.prepare(keys, values)

    def mix(self, query: Tensor, prepared: Prepared, mask: Tensor | None, first: int) -> Tensor:
        """weights @ values in chunks of queries; with gradients on, each chunk is recomputed in the backward pass."""
        rows = self.chunk_rows(query, prepared.keys)
        if rows >= query.shape[-2]:
            return self.mix_rows(query, *prepared, mask, first)
        outputs = []
        mix_rows = partial(checkpoint, self.mix_rows, use_reentrant=False) if torch.is_grad_enabled() else self.mix_rows
        for start in range(0, query.shape[-2], rows):
            chunk = query[..., start : start + rows, :]
            outputs.append(mix_rows(chunk, *prepared, mask_rows(mask, start, rows), first + start))
        return torch.cat(outputs, dim=-2)

    def mix_rows(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, first: int) -> Tensor:
        weights = self.weights(query, Prepared(keys, values), mask, first=first)
        return F.dropout(weights, self.dropout, self.training).to(values.dtype) @ values

    def chunk_rows(self, query: Tensor, keys: Tensor) -> int:
        """How many queries fit into one chunk."""
        row = math.prod(query.shape[:-2]) * keys.shape[-2] * self.pair_width
        return max(1, CHUNK // max(1, row))


AttentionFactory = Callable[..., Attention]
"""Makes a mechanism from `query_dim, key_dim, heads`: a class, or a partial of one."""


class ScoreAttention(Attention):
    """An attention that is a score for each pair of query and key; softmax and masking are written here, once.

    A mechanism says what it reads off the keys alone (`read`) and how a query compares with that (`compare`).
    """

    def read(self, keys: Float[Tensor, "*B K D"]) -> Float[Tensor, "*B K _"]:
        """The part of the score that depends on the keys alone."""
        return keys

    @abstractmethod
    def compare(
        self, query: Float[Tensor, "*B Q _"], keys: Float[Tensor, "*B K _"], mask: Tensor | None, *, first: int
    ) -> Float[Tensor, "*B Q K"]:
        """Scores of queries against keys that were read. What a mechanism is."""

    def prepare(self, keys: Float[Tensor, "*B K _"], values: Float[Tensor, "*B K E"]) -> Prepared:
        return Prepared(self.read(keys), values)

    def scores(
        self,
        query: Float[Tensor, "*B Q _"],
        keys: Float[Tensor, "*B K _"] | Prepared,
        mask: Tensor | None = None,
        *,
        first: int = 0,
    ) -> Float[Tensor, "*B Q K"]:
        """Scores before masking and softmax, in at least float32 from what was read off the keys onwards.

        The reading itself runs in the precision around it, as `prepare` does in `forward`: so these are its scores.
        """
        read = keys.keys if isinstance(keys, Prepared) else self.read(keys)
        # Autocast would turn even float32 operands into bfloat16 products: off, then, not just cast.
        with torch.autocast(query.device.type, enabled=False):
            return self.compare(precise(query), precise(read), mask, first=first)

    def weights(
        self,
        query: Float[Tensor, "*B Q _"],
        keys: Float[Tensor, "*B K _"] | Prepared,
        mask: Tensor | None = None,
        *,
        first: int = 0,
    ) -> Float[Tensor, "*B Q K"]:
        mask = check_mask(mask, query, keys)
        return masked_softmax(self.scores(query, keys, mask, first=first), mask)


def precise(tensor: Tensor) -> Tensor:
    """The tensor in float32, or in float64 where it is that already."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def masked_softmax(scores: Float[Tensor, "*B Q K"], mask: Tensor | None) -> Float[Tensor, "*B Q K"]:
    """Softmax over the keys that may be attended; exactly 0 elsewhere, and everywhere in a row without any.

    The lowest finite number fills the masked scores: minus infinity would make NaN of a row without any key, in the
    value or in the gradient, and a fixed number such as -1e9 either overflows half precision or is beaten by a score.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    forbidden = ~mask
    filled = scores.masked_fill(forbidden, torch.finfo(scores.dtype).min)
    return filled.softmax(dim=-1).masked_fill(forbidden, 0.0)


def check_mask(mask: Tensor | None, query: Tensor, keys: Tensor | Prepared) -> Tensor | None:
    """The mask, once it is sure to be bool and to fit `*B Q K`.

    Raises:
        TypeError: if it is not bool. A 0/1 mask added to the scores would change them and hide nothing.
        ValueError: if it does not broadcast.
    """
    if mask is None:
        return None
    if mask.dtype != torch.bool:
        raise TypeError(
            f"attention masks are bool with True = may attend; got {mask.dtype}. "
            "For a 1/0 mask with 1 = may attend, pass mask.bool()."
        )
    keys = keys.keys if isinstance(keys, Prepared) else keys
    wanted = (*query.shape[:-1], keys.shape[-2])
    fits = mask.dim() <= len(wanted) and all(
        m in (1, w) for m, w in zip(reversed(mask.shape), reversed(wanted), strict=False)
    )
    if not fits:
        raise ValueError(
            f"an attention mask must broadcast to (*B, Q, K) = {wanted}; got shape {tuple(mask.shape)}. "
            "A mask over keys alone has the shape (B, 1, K)."
        )
    return mask


def mask_rows(mask: Tensor | None, start: int, rows: int) -> Tensor | None:
    """The part of a mask that belongs to a chunk of queries."""
    if mask is None or mask.dim() < 2 or mask.shape[-2] == 1:
        return mask
    return mask[..., start : start + rows, :]


def per_head(parameter: Float[Tensor, "H _ ..."], like: Tensor) -> Tensor:
    """A parameter ready to meet `*B H Q D`, or `*B Q D` where it is made for one head; in the precision of `like`."""
    parameter = parameter if parameter.shape[0] > 1 else parameter[0]
    return parameter if torch.is_autocast_enabled(like.device.type) else parameter.to(like.dtype)


def build(mechanism: Attention | AttentionFactory, **sizes: int | None) -> Attention:
    """The mechanism itself, or what its factory makes at these sizes."""
    return mechanism if isinstance(mechanism, Attention) else mechanism(**sizes)


def require_equal_widths(name: str, query_dim: int | None, key_dim: int | None) -> None:
    """Raises ValueError, naming both, unless the two are equal (None: not known yet)."""
    if query_dim is not None and key_dim is not None and query_dim != key_dim:
        raise ValueError(
            f"{name} compares queries and keys of equal width; got query_dim={query_dim} and key_dim={key_dim}. "
            "GeneralAttention and AdditiveAttention take different ones."
        )
