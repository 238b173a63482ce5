"""Generation over one step function with an explicit state."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

State = TypeVar("State")
Step = Callable[[Int[Tensor, "B T"], State], tuple[Float[Tensor, "B T V"], State]]
"""Takes the latest tokens and the state before them; returns logits after each token and the state after them."""


class Decoded(NamedTuple):
    """One generated sequence."""

    tokens: list[int]
    """Without start and end."""
    log_probabilities: list[float]
    """Of each token, and of the end where it was reached."""
    cut: bool
    """True where the limit came before the end."""


@torch.no_grad()
def greedy(
    step: Step,
    state: State,
    *,
    start: int,
    end: int,
    limits: Int[Tensor, " B"],
    never: Sequence[int] = (),
) -> list[Decoded]:
    """The likeliest token at every step, until `end`, or until a row has as many tokens as its limit.

    Tokens in `never` are not generated.
    """
    batch = limits.shape[0]
    token = torch.full((batch, 1), start, device=limits.device)
    going = limits >= 0
    tokens, scores, ended = [], [], []
    while going.any():
        logits, state = step(token, state)
        log_probabilities = logits[:, -1].float().log_softmax(dim=-1)
        log_probabilities[:, list(never)] = -torch.inf
        score, token = log_probabilities.max(dim=-1, keepdim=True)
        tokens.append(token)
        scores.append(score)
        ended.append(token == end)
        going = going & ~ended[-1].squeeze(1) & (len(tokens) <= limits)
    if not tokens:
        return []
    return [
        _decoded(*row)
        for row in zip(
            torch.cat(tokens, 1).tolist(),
            torch.cat(scores, 1).tolist(),
            torch.cat(ended, 1).tolist(),
            limits.tolist(),
            strict=True,
        )
    ]


def _decoded(tokens: list[int], scores: list[float], ended: list[bool], limit: int) -> Decoded:
    """One row up to its end, or up to its limit."""
    length = ended.index(True) if True in ended else len(tokens)
    if length <= limit and True in ended:
        return Decoded(tokens[:length], scores[: length + 1], cut=False)
    return Decoded(tokens[:limit], scores[:limit], cut=True)
