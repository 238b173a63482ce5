"""intervene(model, forbid=...): what a model does when it may not look at some keys, from outside the model."""

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from core.attention.base import Attention, Prepared, ScoreAttention, masked_softmax
from core.attention.multi_head import MultiHeadAttention
from core.record import chosen_attention

METHODS = "weights", "mix", "onward"
"""What of a mechanism looks at keys."""


@contextmanager
def intervene(
    model: nn.Module,
    *,
    forbid: Collection[int] | Tensor,
    heads: Sequence[int] | None = None,
    modules: Collection[str] | None = None,
) -> Iterator[None]:
    """Inside the block no query looks at the keys of `forbid`; what they had goes to the others.

    `forbid` holds places on the key axis, or is a bool tensor, True = forbidden, broadcastable to `*B Q K`; a row of
    its Q axis counts from the place that a call's `first` says. The weights are those of a softmax over the keys that
    are left, with scores as they were: local attention keeps its centre and its window. A query with nothing left
    gets weights and an output of exactly 0 (torch's own multi-head attention, which is understood too: NaN).

    `modules` are dotted names of attention modules (all outermost ones if None), `heads` numbers of heads in each.
    `record` inside the block shows the changed weights. Blocks nest, and what they forbid adds up; afterwards the model
    is what it was, to the bit.

    Raises:
        ValueError: if a name is no attention of this model, a head or a place of keys does not exist (places are known
            at the end of the block, since caches grow), or heads are asked of an attention without any.
        TypeError: if a tensor is not bool.
    """
    rule = Rule(_places(forbid), None if heads is None else tuple(heads))
    with ExitStack() as stack:
        for name, module in chosen_attention(model, modules).items():
            rule.check_heads(name, module)
            stack.enter_context(_ours(module, rule) if isinstance(module, Attention) else _foreign(module, rule))
        yield
    rule.check_places()


@dataclass(eq=False)
class Rule:
    """What one block forbids, and how many keys it has met."""

    forbidden: Tensor
    """`*B Q K` or shorter, True = forbidden, without a head axis."""
    heads: tuple[int, ...] | None
    met: int = 0

    def check_heads(self, name: str, module: nn.Module) -> None:
        if self.heads is None:
            return
        count = heads_of(module)
        if not count or not all(0 <= head < count for head in self.heads):
            has = f"has {count} heads, 0 to {count - 1}" if count else "has no heads: leave `heads` out"
            raise ValueError(f"intervene(heads={list(self.heads)}): {name or 'the model'} {has}.")

    def check_places(self) -> None:
        beyond = self.forbidden.nonzero()[:, -1].max().item() if self.forbidden.any() else -1
        if beyond >= self.met:
            raise ValueError(
                f"intervene(forbid=...): key {beyond} is forbidden, but no call inside the block had more than "
                f"{self.met} keys. Places count from 0."
            )

    def allowed(self, queries: int, keys: int, first: int, heads: int) -> Tensor:
        """`*B Q K`, True = not forbidden by this rule; `*B H Q K` in an attention that has heads."""
        self.met = max(self.met, keys)
        forbidden = self.forbidden[..., :keys]
        forbidden = nn.functional.pad(forbidden, (0, keys - forbidden.shape[-1]))
        if forbidden.dim() > 1 and forbidden.shape[-2] > 1:
            forbidden = forbidden[..., first : first + queries, :]
        if not heads:
            return ~forbidden
        forbidden = torch.atleast_2d(forbidden).unsqueeze(-3)
        numbers = torch.arange(heads, device=forbidden.device)
        chosen = numbers >= 0 if self.heads is None else torch.isin(numbers, numbers.new_tensor(self.heads))
        return ~(forbidden & chosen[:, None, None])


def heads_of(module: nn.Module) -> int:
    """How many heads an attention has; 0 for one without a head axis."""
    if isinstance(module, MultiHeadAttention):
        return module.heads
    return module.num_heads if isinstance(module, nn.MultiheadAttention) else 0


def _places(forbid: Collection[int] | Tensor) -> Tensor:
    if isinstance(forbid, Tensor):
        if forbid.dtype != torch.bool or not forbid.dim():
            raise TypeError(
                f"intervene(forbid=...) takes places of keys, or a bool tensor with True = forbidden, broadcastable to "
                f"(*B, Q, K); got {forbid.dtype} of shape {tuple(forbid.shape)}."
            )
        return forbid
    if any(place < 0 for place in forbid):
        raise ValueError(f"places of keys count from 0; got {sorted(forbid)}")
    forbidden = torch.zeros(max(forbid, default=-1) + 1, dtype=torch.bool)
    forbidden[list(forbid)] = True
    return forbidden


@contextmanager
def _ours(module: Attention, rule: Rule) -> Iterator[None]:
    """Puts methods of the mechanism in front of its class's own, as attributes of this one object."""
    mechanism = module.mechanism if isinstance(module, MultiHeadAttention) else module
    own = vars(mechanism)
    before = {name: own[name] for name in METHODS if name in own}
    outer = before["weights"].__self__.rules if before else ()
    without = _Without(mechanism, heads_of(module), (*outer, rule))
    own |= {name: getattr(without, name) for name in METHODS}
    try:
        yield
    finally:
        for name in METHODS:
            del own[name]
        own |= before


@dataclass
class _Without:
    """A mechanism that may not look at what the rules forbid."""

    mechanism: Attention
    heads: int
    rules: tuple[Rule, ...]

    def allowed(self, mask: Tensor | None, query: Tensor, keys: Tensor, first: int) -> Tensor:
        allowed = mask
        for rule in self.rules:
            one = rule.allowed(query.shape[-2], keys.shape[-2], first, self.heads).to(query.device)
            allowed = one if allowed is None else allowed & one
        assert allowed is not None
        return allowed

    def weights(self, query: Tensor, keys: Tensor | Prepared, mask: Tensor | None = None, *, first: int = 0) -> Tensor:
        own = keys.keys if isinstance(keys, Prepared) else keys
        allowed = self.allowed(mask, query, own, first)
        if isinstance(self.mechanism, ScoreAttention):
            # Scores by the mask that the model gave: a predicted centre reads the length of the sequence off it.
            return masked_softmax(self.mechanism.scores(query, keys, mask, first=first), allowed)
        return type(self.mechanism).weights(self.mechanism, query, keys, allowed, first=first)

    def mix(self, query: Tensor, prepared: Prepared, mask: Tensor | None, first: int) -> Tensor:
        if isinstance(self.mechanism, ScoreAttention):
            return Attention.mix(self.mechanism, query, prepared, mask, first)  # by way of `weights` above
        allowed = self.allowed(mask, query, prepared.keys, first)
        return type(self.mechanism).mix(self.mechanism, query, prepared, allowed, first)

    def onward(self, query: Tensor, prepared: Prepared, mask: Tensor | None = None, *, first: int = 0) -> Prepared:
        allowed = self.allowed(mask, query, prepared.keys, first)
        return type(self.mechanism).onward(self.mechanism, query, prepared, allowed, first=first)


@contextmanager
def _foreign(module: nn.MultiheadAttention, rule: Rule) -> Iterator[None]:
    """Adds to the `attn_mask` that torch's own multi-head attention gets."""
    handle = module.register_forward_pre_hook(_with_mask(rule), with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def _with_mask(rule: Rule) -> Callable[..., Any]:
    def change(module: nn.MultiheadAttention, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        inputs = inspect.signature(module.forward).bind(*args, **kwargs).arguments
        query, keys = inputs["query"], inputs["key"]
        sequence = -2 if module.batch_first or query.dim() < 3 else 0
        rows = query.shape[:-2] if sequence == -2 else query.shape[1:2]
        shape = (*rows, module.num_heads, query.shape[sequence], keys.shape[sequence])
        forbidden = ~rule.allowed(shape[-2], shape[-1], 0, module.num_heads).to(query.device)
        forbidden = forbidden.expand(shape).flatten(0, -3)
        given = inputs.get("attn_mask")
        if given is None:
            mask = forbidden
        elif given.dtype == torch.bool:
            mask = given | forbidden
        else:
            mask = given.masked_fill(forbidden, -torch.inf)
        return (), {**inputs, "attn_mask": mask, "is_causal": False}

    return change
