"""record(model): the attention weights of a forward pass, by module name, from outside the model."""

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention.base import Attention, Prepared

Inputs = dict[str, Any]
Watched = Attention | nn.MultiheadAttention


@contextmanager
def record(
    model: nn.Module,
    *,
    modules: Collection[str] | None = None,
    heads: Sequence[int] | None = None,
    rows: Sequence[int] | None = None,
) -> Iterator[dict[str, Tensor]]:
    """Yields a dictionary that fills with weights, `B H Q K` or `B Q K`, while the model runs inside the block.

    It asks every outermost attention module, ours or `torch.nn.MultiheadAttention`, for the weights of the inputs it
    just got, without gradients and without a random number: outputs are the same to the bit with it and without.
    (torch's own encoder layers leave their fused path while anything watches, and may differ in the last bits.)
    Steps of one generation are joined along Q where each call's `first` continues the one before.

    `modules` (dotted names), `heads` (where a map has heads) and `rows` (of the batch) say what to keep, and memory
    follows what is kept.

    Raises:
        ValueError: if a name in `modules` is no attention of this model, or `rows` meets inputs without a batch.
        RuntimeError: if a module is called twice for other reasons than a step loop, or if nothing was recorded.
    """
    names = chosen_attention(model, modules)
    maps: dict[str, Tensor] = {}
    handles = [
        module.register_forward_hook(_hook(name, maps, heads, rows), with_kwargs=True) for name, module in names.items()
    ]
    try:
        yield maps
    finally:
        for handle in handles:
            handle.remove()
    if not maps:
        raise RuntimeError(f"record() caught nothing: none of {list(names)} was called inside the block.")


def outermost_attention(model: nn.Module) -> dict[str, Watched]:
    """The attention modules by dotted name, without those that are parts of another one."""
    found: dict[str, Watched] = {}
    for name, module in model.named_modules():
        inside = any(name.startswith(f"{outer}." if outer else "") for outer in found)
        if isinstance(module, Watched) and not inside:
            found[name] = module
    return found


def chosen_attention(model: nn.Module, modules: Collection[str] | None) -> dict[str, Watched]:
    """The outermost attention modules, or those of these names.

    Raises:
        ValueError: if a name is no attention of this model, or there is none.
    """
    found = outermost_attention(model)
    unknown = set(modules or ()) - set(found)
    if not found or unknown:
        asked = f"{sorted(unknown)} is no attention of this model" if unknown else "this model has no attention modules"
        raise ValueError(f"{asked}; it has {list(found)}.")
    return {name: module for name, module in found.items() if modules is None or name in modules}


def _hook(
    name: str, maps: dict[str, Tensor], heads: Sequence[int] | None, rows: Sequence[int] | None
) -> Callable[..., None]:
    following = 0  # the `first` of a call that would continue the generation

    def keep(module: Watched, args: tuple, kwargs: Inputs, output: object) -> None:
        nonlocal following
        inputs = inspect.signature(module.forward).bind(*args, **kwargs).arguments
        if rows is not None and inputs["query"].dim() < 3:
            raise ValueError(f"record(rows=...): {name or 'the model'} got a query without a batch axis.")
        with torch.no_grad():
            ours = isinstance(module, Attention)
            weights = _ours(module, inputs, rows) if ours else _foreign(module, inputs, rows)
        if heads is not None and weights.dim() > inputs["query"].dim():
            weights = weights[..., list(heads), :, :]
        first = inputs.get("first", 0)
        maps[name] = _joined(name, maps[name], weights, first, following) if name in maps else weights
        following = first + weights.shape[-2]

    return keep


def _ours(module: Attention, inputs: Inputs, rows: Sequence[int] | None) -> Tensor:
    query, keys, mask = inputs["query"], inputs["keys"], inputs.get("mask")
    if rows is not None:
        if mask is not None and mask.dim() == query.dim() and mask.shape[0] > 1:
            mask = mask[list(rows)]
        query = query[list(rows)]
        keys = Prepared(*(part[list(rows)] for part in keys)) if isinstance(keys, Prepared) else keys[list(rows)]
    return module.weights(query, keys, mask, first=inputs.get("first", 0))


def _foreign(module: nn.MultiheadAttention, inputs: Inputs, rows: Sequence[int] | None) -> Tensor:
    """Weights of torch's own multi-head attention: one map a head, without dropout, 0 where it would give NaN."""
    asked: Inputs = inputs | {"need_weights": True, "average_attn_weights": False}
    training = module.training
    try:
        module.training = False
        _, weights = module.forward(**asked)
        assert weights is not None
    finally:
        module.training = training
    return (weights if rows is None else weights[list(rows)]).nan_to_num(0.0)


def _joined(name: str, before: Tensor, weights: Tensor, first: int, following: int) -> Tensor:
    """Earlier steps of the same generation with this one below them; keys that came later were 0 for the earlier."""
    grown = weights.shape[-1] - before.shape[-1]
    if first != following or before.shape[:-2] != weights.shape[:-2] or grown < 0:
        raise RuntimeError(
            f"record(): {name or 'the model'} was called again, with first={first} and weights {tuple(weights.shape)}, "
            f"which do not continue {tuple(before.shape)} up to {following}; "
            "record one forward pass, or one step loop that passes first=step."
        )
    return torch.cat([F.pad(before, (0, grown)), weights], dim=-2)
