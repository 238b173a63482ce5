"""Simple recurrent units (Lei et al. 2018): a recurrent layer whose matrix products do not wait for each other."""

from typing import Any, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from core.layers import ambient


class RunningMean(torch.autograd.Function):
    """state[t] = keep[t] state[t - 1] + (1 - keep[t]) new[t], along the first axis, from a state of 0; for the second
    half of the width from the end, with t + 1.

    One operation a step. Autograd would keep a node for each of them, and takes three times as long.
    """

    @staticmethod
    def forward(ctx: Any, keep: Tensor, new: Tensor) -> Tensor:
        states = torch.empty_like(new)
        for kept, added, state in zip(steps(keep), steps(new), steps(states), strict=True):
            before = torch.zeros_like(added[0])
            for each in zip(added, kept, state, strict=True):
                before = torch.lerp(each[0], before, each[1], out=each[2])
        ctx.save_for_backward(keep, new, states)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        keep, new, states = ctx.saved_tensors
        # Of each state: what is asked of it, and what comes back through the step after it.
        whole = gradients[0].clone(memory_format=torch.contiguous_format)
        for part, kept in zip(steps(whole), steps(keep), strict=True):
            for after, through, before in zip(part[:0:-1], kept[:0:-1], part[-2::-1], strict=True):
                before.addcmul_(after, through)
        difference = -new
        half = new.shape[-1] // 2
        difference[1:, :, :half] += states[:-1, :, :half]
        difference[:-1, :, half:] += states[1:, :, half:]
        return whole * difference, whole - whole * keep


def steps(sequence: Float[Tensor, "T B D"]) -> tuple[list[Tensor], list[Tensor]]:
    """The steps of both directions, each in its order, with half of the width."""
    forwards, backwards = sequence.chunk(2, dim=-1)
    return list(forwards.unbind()), list(backwards.unbind())[::-1]


def running_mean(keep: Float[Tensor, "T B D"], new: Float[Tensor, "T B D"]) -> Float[Tensor, "T B D"]:
    return cast(Tensor, RunningMean.apply(keep, new))


class SimpleRecurrentLayer(nn.Module):
    """Both directions of a simple recurrent unit, each with half of the width, and a highway past them.

    A forget gate and a candidate are read off the input alone; the state is their running mean. Padding leaves the
    state as it is, so what stands there has no influence, in either direction.
    """

    def __init__(self, *, width: int, dropout: float) -> None:
        super().__init__()
        if width % 2:
            raise ValueError(f"both directions share the width, so it is even; got {width}")
        self.read = nn.Linear(width, 3 * width)
        self.dropout = SharedDropout(dropout)
        nn.init.xavier_uniform_(self.read.weight)
        with torch.no_grad():
            self.read.bias.zero_()
            self.read.bias[width : 2 * width] = 1.0

    def forward(self, inputs: Float[Tensor, "T B D"], padding: Bool[Tensor, "T B 1"]) -> Float[Tensor, "T B D"]:
        new, keep, carry = self.read(self.dropout(inputs)).chunk(3, dim=-1)
        keep = keep.sigmoid().masked_fill(padding, 1.0)
        return torch.lerp(inputs, running_mean(keep, new), carry.sigmoid())


class SimpleRecurrentEncoder(nn.Module):
    """Layers of simple recurrent units, one on the other, and a norm."""

    def __init__(self, *, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(SimpleRecurrentLayer(width=width, dropout=dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B 1 T"]) -> Float[Tensor, "B T D"]:
        states, padding = inputs.transpose(0, 1).contiguous(), ~mask.permute(2, 0, 1)
        for layer in self.layers:
            states = layer(states, padding)
        return ambient(self.norm(states.transpose(0, 1).contiguous()))


class SharedDropout(nn.Module):
    """Dropout with one mask for all steps of a sequence (Gal and Ghahramani 2016): the first axis for `T B D`."""

    def __init__(self, rate: float, *, steps: int = 0) -> None:
        super().__init__()
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"a dropout rate lies between 0 and 1, without 1; got {rate}")
        self.rate, self.steps = rate, steps

    def forward(self, inputs: Float[Tensor, "_ _ D"]) -> Float[Tensor, "_ _ D"]:
        """`steps` is the axis of the sequence."""
        if not self.training or not self.rate:
            return inputs
        shape = [size if axis != self.steps else 1 for axis, size in enumerate(inputs.shape)]
        kept = torch.rand(shape, device=inputs.device) >= self.rate
        return inputs * (kept.to(inputs.dtype) / (1.0 - self.rate))
