"""Masks: bool, True = may attend, broadcastable to `*B Q K`, without a head axis. Combine them with `&`."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def padding(lengths: Int[Tensor, " B"], keys: int) -> Bool[Tensor, "B 1 K"]:
    """Each sequence of a batch may attend to its own first `length` keys and to no padding."""
    return (torch.arange(keys, device=lengths.device) < lengths[:, None]).unsqueeze(-2)


def causal(queries: int, keys: int, *, device: torch.device | str | None = None) -> Bool[Tensor, "Q K"]:
    """No query sees what comes after it. The queries are the last positions, as they are beside a key/value cache."""
    return local(queries, keys, before=keys, after=0, first=keys - queries, device=device)


def local(
    queries: int, keys: int, before: int, after: int, *, first: int = 0, device: torch.device | str | None = None
) -> Bool[Tensor, "Q K"]:
    """Query q sees the keys from q - before to q + after. `first` is the place of query 0 on the key axis."""
    places = torch.arange(first, first + queries, device=device)
    distance = torch.arange(keys, device=device) - places[:, None]
    return (distance >= -before) & (distance <= after)
