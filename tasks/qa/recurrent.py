"""Simple recurrent units (Lei et al. 2018): a recurrent layer whose matrix products do not wait for each other."""

from typing import Any, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from core.layers import ambient


class Scan(torch.autograd.Function):
    """state[t] = keep[t] state[t - 1] + new[t], along T; from the end if `backwards`.

    One product and sum a step. Autograd would keep a node for each of them, and takes three times as long.
    """

    @staticmethod
    def forward(ctx: Any, keep: Tensor, new: Tensor, backwards: bool) -> Tensor:
        states = torch.empty_like(new)
        follow(keep.unbind(1), new.unbind(1), states.unbind(1), backwards)
        ctx.save_for_backward(keep, states)
        ctx.backwards = backwards
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        keep, states = ctx.saved_tensors
        zero = torch.zeros_like(keep[:, :1])
        # The gradient comes back through the keep of the step after.
        later = torch.cat([zero, keep[:, :-1]], dim=1) if ctx.backwards else torch.cat([keep[:, 1:], zero], dim=1)
        new = torch.empty_like(states)
        follow(later.unbind(1), gradients[0].unbind(1), new.unbind(1), not ctx.backwards)
        before = torch.cat([states[:, 1:], zero], dim=1) if ctx.backwards else torch.cat([zero, states[:, :-1]], dim=1)
        return new * before, new, None


def follow(keep: tuple[Tensor, ...], new: tuple[Tensor, ...], states: tuple[Tensor, ...], backwards: bool) -> None:
    """Fills in the states, one after the other."""
    steps = range(len(new) - 1, -1, -1) if backwards else range(len(new))
    before = None
    for step in steps:
        if before is None:
            states[step].copy_(new[step])
        else:
            torch.addcmul(new[step], keep[step], before, out=states[step])
        before = states[step]


def scan(keep: Float[Tensor, "B T D"], new: Float[Tensor, "B T D"], *, backwards: bool) -> Float[Tensor, "B T D"]:
    return cast(Tensor, Scan.apply(keep, new, backwards))


class SimpleRecurrentLayer(nn.Module):
    """Both directions of a simple recurrent unit, each with half of the width, and a highway past them.

    A forget gate and a candidate are read off the input alone; the state is their running mean. Padding leaves the
    state as it is, so what stands there has no influence, in either direction.
    """

    def __init__(self, *, width: int, dropout: float) -> None:
        super().__init__()
        if width % 2:
            raise ValueError(f"both directions share the width, so it is even; got {width}")
        self.norm = nn.LayerNorm(width)
        self.read = nn.Linear(width, 3 * width)
        self.dropout = SharedDropout(dropout)
        with torch.no_grad():
            self.read.bias.zero_()
            self.read.bias[width : 2 * width] = 1.0

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B 1 T"]) -> Float[Tensor, "B T D"]:
        candidate, forget, carry = self.read(self.dropout(self.norm(inputs))).chunk(3, dim=-1)
        padding = ~mask.transpose(1, 2)
        keep = forget.float().sigmoid().masked_fill(padding, 1.0)
        new = (1.0 - keep) * candidate.float()
        halves = zip(keep.chunk(2, dim=-1), new.chunk(2, dim=-1), (False, True), strict=True)
        states = torch.cat([scan(*half, backwards=backwards) for *half, backwards in halves], dim=-1)
        carry = carry.sigmoid()
        return carry * ambient(states) + (1.0 - carry) * inputs


class SimpleRecurrentEncoder(nn.Module):
    """Layers of simple recurrent units, one on the other."""

    def __init__(self, *, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(SimpleRecurrentLayer(width=width, dropout=dropout) for _ in range(layers))

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B 1 T"]) -> Float[Tensor, "B T D"]:
        for layer in self.layers:
            inputs = layer(inputs, mask)
        return inputs


class SharedDropout(nn.Module):
    """Dropout with one mask for all steps of a sequence (Gal and Ghahramani 2016)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"a dropout rate lies between 0 and 1, without 1; got {rate}")
        self.rate = rate

    def forward(self, inputs: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        if not self.training or not self.rate:
            return inputs
        kept = torch.rand(inputs.shape[0], 1, inputs.shape[2], device=inputs.device) >= self.rate
        return inputs * (kept.to(inputs.dtype) / (1.0 - self.rate))
