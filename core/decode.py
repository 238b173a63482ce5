"""Generation over one step function with an explicit state: greedy and drawn here, by beams in `core.beams`.

A step takes the latest tokens and the state before them, and returns logits after each token and the state after them.
Each way of decoding takes the same first arguments, so that a model can be told which one to use.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

State = TypeVar("State")
Step = Callable[[Int[Tensor, "B T"], State], tuple[Float[Tensor, "B T V"], State]]
Heard = Callable[[list[int]], None]
"""Who listens while tokens are chosen: it gets the next token of each row."""


class Decoded(NamedTuple):
    """One generated sequence."""

    tokens: list[int]
    """Without start and end."""
    log_probabilities: list[float]
    """In nats, of each token, and of the end where it was reached."""
    cut: bool
    """True where the limit came before the end."""
    others: tuple["Decoded", ...] = ()
    """What else was found, best first."""


class Reorderable(Protocol):
    """A state whose rows can be picked. Beams need this; one row a sentence does not."""

    def follow(self, rows: Int[Tensor, " N"]) -> "Reorderable":
        """Row n goes on from row `rows[n]` of the same source: only what depends on the tokens moves."""
        ...

    def take(self, rows: Int[Tensor, " N"]) -> "Reorderable":
        """Row n is row `rows[n]`, source and all."""
        ...


def take(tree: Any, rows: Int[Tensor, " N"]) -> Any:
    """Rows of every tensor in nested tuples, along the first axis; what is no tensor stays what it is."""
    if isinstance(tree, Tensor):
        return tree.index_select(0, rows)
    if not isinstance(tree, tuple):
        return tree
    taken = [take(inner, rows) for inner in tree]
    return type(tree)(*taken) if hasattr(tree, "_fields") else tuple(taken)


class Rules(NamedTuple):
    """What may be said next, whoever chooses."""

    end: int
    never: Sequence[int] = ()
    """Tokens that are not generated."""
    prefix: Sequence[Sequence[int]] = ()
    """Tokens that each row must begin with: one sequence a row, or one for all."""
    no_repeat: int = 0
    """No run of so many tokens comes twice; 0 allows all."""

    def __call__(
        self, logits: Float[Tensor, "N V"], said: Int[Tensor, "N T"], rows: Sequence[int]
    ) -> Float[Tensor, "N V"]:
        """Log-probabilities after what was `said`, -inf where the rules forbid; nobody inherits a forbidden share.

        `rows` are the numbers of the rows in the batch that was begun with.
        """
        allowed = logits.float().log_softmax(dim=-1)
        allowed[:, list(self.never)] = -torch.inf
        if self.no_repeat:
            for number, tokens in enumerate(said.tolist()):
                allowed[number, list(repeating(tokens, self.no_repeat))] = -torch.inf
        for number, row in enumerate(rows):
            prefix = self.prefix_of(row)
            if said.shape[1] < len(prefix):
                token = prefix[said.shape[1]]
                share = allowed[number, token].item()
                allowed[number] = -torch.inf
                allowed[number, token] = share
        return allowed

    def prefix_of(self, row: int) -> Sequence[int]:
        return self.prefix[row if len(self.prefix) > 1 else 0] if self.prefix else ()


def repeating(tokens: Sequence[int], size: int) -> set[int]:
    """The tokens that would end a run of `size` tokens which was there before."""
    last = tokens[len(tokens) - size + 1 :]
    starts = range(len(tokens) - size + 1)
    return {tokens[at + size - 1] for at in starts if tokens[at : at + size - 1] == last}


def greedy(
    step: Step,
    state: Any,
    *,
    start: int,
    end: int,
    limits: Int[Tensor, " B"],
    never: Sequence[int] = (),
    prefix: Sequence[Sequence[int]] = (),
    no_repeat: int = 0,
    heard: Heard | None = None,
) -> list[Decoded]:
    """The likeliest token at every step, until `end`, or until a row has as many tokens as its limit."""
    rules = Rules(end, never, prefix, no_repeat)
    return _one_by_one(step, state, likeliest, start=start, limits=limits, rules=rules, heard=heard)


def sample(
    step: Step,
    state: Any,
    *,
    start: int,
    end: int,
    limits: Int[Tensor, " B"],
    never: Sequence[int] = (),
    prefix: Sequence[Sequence[int]] = (),
    no_repeat: int = 0,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: int = 0,
    heard: Heard | None = None,
) -> list[Decoded]:
    """Tokens drawn by their shares: of the `top_k` likeliest (0: of all), of the fewest that hold `top_p` of the mass
    (Holtzman et al. 2020), sharper below temperature 1, flatter above it.

    The same seed and batch give the same tokens. The log-probabilities are the model's own, before any of this.

    Raises:
        ValueError: for a temperature not above 0, a `top_k` below 0, or a `top_p` outside 0 to 1.
    """
    if temperature <= 0 or top_k < 0 or not 0 < top_p <= 1:
        raise ValueError(
            f"sampling takes a temperature above 0, a top_k of 0 or more, and a top_p above 0 and at most 1; "
            f"got {temperature}, {top_k} and {top_p}"
        )
    generator = torch.Generator(limits.device).manual_seed(seed)
    choose = partial(drawn, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
    rules = Rules(end, never, prefix, no_repeat)
    return _one_by_one(step, state, choose, start=start, limits=limits, rules=rules, heard=heard)


def likeliest(log_probabilities: Float[Tensor, "N V"]) -> Int[Tensor, "N 1"]:
    return log_probabilities.argmax(dim=-1, keepdim=True)


def drawn(
    log_probabilities: Float[Tensor, "N V"],
    *,
    temperature: float,
    top_k: int,
    top_p: float,
    generator: torch.Generator,
) -> Int[Tensor, "N 1"]:
    """One token a row, by its share among those that are kept."""
    shares, tokens = (log_probabilities / temperature).softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    if top_k:
        shares[:, top_k:] = 0.0
    before = shares.cumsum(dim=-1) - shares
    shares = shares.masked_fill(before >= top_p * shares.sum(dim=-1, keepdim=True), 0.0)
    return tokens.gather(-1, shares.multinomial(1, generator=generator))


@torch.no_grad()
def _one_by_one(
    step: Step,
    state: Any,
    choose: Callable[[Float[Tensor, "N V"]], Int[Tensor, "N 1"]],
    *,
    start: int,
    limits: Int[Tensor, " B"],
    rules: Rules,
    heard: Heard | None,
) -> list[Decoded]:
    """One sequence a row, its next token chosen from what the rules allow."""
    batch = limits.shape[0]
    token = torch.full((batch, 1), start, device=limits.device)
    going = limits >= 0
    said = token[:, :0]
    scores, ended = [], []
    while going.any():
        logits, state = step(token, state)
        log_probabilities = rules(logits[:, -1], said, range(batch))
        token = choose(log_probabilities)
        said = torch.cat([said, token], dim=1)
        scores.append(log_probabilities.gather(-1, token))
        if heard and (limits > len(ended)).any():
            heard(token.squeeze(1).tolist())
        ended.append(token == rules.end)
        going = going & ~ended[-1].squeeze(1) & (len(ended) <= limits)
    if not ended:
        return []
    columns = (said, torch.cat(scores, 1), torch.cat(ended, 1), limits)
    return [_decoded(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _decoded(tokens: list[int], scores: list[float], ended: list[bool], limit: int) -> Decoded:
    """One row up to its end, or up to its limit."""
    length = ended.index(True) if True in ended else len(tokens)
    if length <= limit and True in ended:
        return Decoded(tokens[:length], scores[: length + 1], cut=False)
    return Decoded(tokens[:limit], scores[:limit], cut=True)
