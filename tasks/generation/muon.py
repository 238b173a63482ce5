"""Muon: steps of matrices whose directions all have the same length (Jordan et al. 2024), beside AdamW for the rest."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the odd polynomial whose repetition drives every singular value to about 1."""
ROUNDS = 5


class Muon(torch.optim.Optimizer):
    """Groups marked `orthogonal` are matrices whose averaged gradient is made nearly orthogonal before it is taken as a
    step; all other groups are AdamW's (Loshchilov and Hutter 2019).

    A step of a matrix of r rows and c columns is longer by sqrt(max(1, r / c)), so that its outputs change as much
    whatever its form. Directions are made orthogonal in `dtype`: bfloat16 is enough, where the processor has it.
    """

    def __init__(
        self, groups: Iterable[dict[str, Any]], *, momentum: float = 0.95, dtype: torch.dtype = torch.float32
    ) -> None:
        self.dtype = dtype
        super().__init__(
            groups, {"lr": 0.0, "weight_decay": 0.0, "orthogonal": False, "betas": (0.9, 0.98), "momentum": momentum}
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            if weights:
                torch._foreach_mul_(weights, 1.0 - group["lr"] * group["weight_decay"])
                (self.turn if group["orthogonal"] else self.adam)(group, weights)
        return loss

    def turn(self, group: dict[str, Any], weights: list[Tensor]) -> None:
        """A step for each matrix; those of one form are made orthogonal together."""
        alike: dict[torch.Size, list[Tensor]] = defaultdict(list)
        for weight in weights:
            alike[weight.shape].append(weight)
        for (rows, columns), each in alike.items():
            averages = [self.state[weight].setdefault("average", torch.zeros_like(weight)) for weight in each]
            gradients = [weight.grad for weight in each if weight.grad is not None]
            torch._foreach_lerp_(averages, gradients, 1.0 - group["momentum"])
            ahead = torch._foreach_lerp(gradients, averages, group["momentum"])
            steps = orthogonal(torch.stack(list(ahead)), self.dtype).unbind(0)
            torch._foreach_add_(each, list(steps), alpha=-group["lr"] * max(1.0, rows / columns) ** 0.5)

    def adam(self, group: dict[str, Any], weights: list[Tensor]) -> None:
        (first, second), rate = group["betas"], group["lr"]
        for weight in weights:
            state, gradient = self.state[weight], weight.grad
            assert gradient is not None
            if not state:
                state.update(steps=0, mean=torch.zeros_like(weight), square=torch.zeros_like(weight))
            state["steps"] += 1
            state["mean"].lerp_(gradient, 1.0 - first)
            state["square"].lerp_(gradient.square(), 1.0 - second)
            spread = (state["square"] / (1.0 - second ** state["steps"])).sqrt_().add_(1e-8)
            weight.addcdiv_(state["mean"], spread, value=-rate / (1.0 - first ** state["steps"]))


def orthogonal(matrices: Float[Tensor, "N R C"], dtype: torch.dtype = torch.float32) -> Float[Tensor, "N R C"]:
    """Matrices with the same singular vectors, whose singular values are all about 1 (Newton and Schulz)."""
    a, b, c = COEFFICIENTS
    tall = matrices.shape[-2] > matrices.shape[-1]
    found = (matrices.mT if tall else matrices).to(dtype)
    found = found / (found.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        square = found @ found.mT
        found = torch.baddbmm(found, torch.baddbmm(square, square, square, beta=b, alpha=c), found, beta=a)
    return (found.mT if tall else found).to(matrices.dtype)
