"""Beam search: several unfinished sequences a row, and the best of what they end in."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from core.decode import Decoded, Rules, Step


class Found(NamedTuple):
    """A sequence that has ended, or was cut, and what it is worth."""

    worth: float
    decoded: Decoded


class UnderWay(NamedTuple):
    """`N` rows of the batch with `M` sequences each, all of them `T` tokens long, best first."""

    rows: list[int]
    """The number that each row had in the batch."""
    totals: Float[Tensor, "N M"]
    """Sums of log-probabilities; -inf at a place that no sequence has taken."""
    tokens: Int[Tensor, "N M T"]
    scores: Float[Tensor, "N M T"]
    """Log-probability of each token."""

    def sequence(self, row: int, place: int) -> tuple[list[int], list[float]]:
        return self.tokens[row, place].tolist(), self.scores[row, place].tolist()


class Next(NamedTuple):
    """The `2M` likeliest ways to go on from each row, best first: enough, since at most `M` of them are an end."""

    totals: Float[Tensor, "N C"]
    parents: Int[Tensor, "N C"]
    """The place of the sequence that goes on."""
    tokens: Int[Tensor, "N C"]
    scores: Float[Tensor, "N C"]
    ends: Bool[Tensor, "N C"]


@torch.no_grad()
def beam(
    step: Step,
    state: Any,
    *,
    start: int,
    end: int,
    limits: Int[Tensor, " B"],
    never: Sequence[int] = (),
    prefix: Sequence[Sequence[int]] = (),
    no_repeat: int = 0,
    beams: int = 5,
    length_penalty: float = 0.6,
    nbest: int = 1,
) -> list[Decoded]:
    """The best sequence of each row that `beams` at a time find; the `nbest - 1` next ones are its `others`.

    A sequence is worth the sum of its log-probabilities divided by ((5 + length) / 6) ** length_penalty (Wu et al.
    2016, equation 14), the end counted in its length: 0 favours short ones, 1 comes near to their mean. A row is done,
    and leaves the batch, when `beams` sequences have ended and none under way is worth more than the least of them.
    What reached its limit comes after all that ended. One beam is greedy decoding. `state` needs `follow` and `take`
    (see `core.decode.Reorderable`).

    Raises:
        ValueError: for less than one beam, or an `nbest` that is not between 1 and `beams`.
    """
    if beams < 1 or not 1 <= nbest <= beams:
        raise ValueError(f"a search takes 1 beam or more, and gives 1 result to all; got beams={beams}, nbest={nbest}")
    rules, ceilings = Rules(end, never, prefix, no_repeat), limits.tolist()
    found: list[list[Found]] = [[] for _ in ceilings]
    now = begin(len(ceilings), beams, limits.device)
    state = state.take(torch.arange(len(ceilings), device=limits.device).repeat_interleave(beams))
    token = torch.full((len(ceilings) * beams, 1), start, device=limits.device)
    while now.rows:
        logits, state = step(token, state)
        following = candidates(now, logits[:, -1], rules)
        for row, each in finished(now, following, ceilings, length_penalty):
            found[row].append(each)
        later, parents = advance(now, following)
        going = [n for n, row in enumerate(now.rows) if goes_on(later, n, found[row], ceilings[row], length_penalty)]
        places = torch.tensor(going, dtype=torch.long, device=limits.device)
        origins = (places[:, None] * beams + parents[places]).flatten()
        state = state.follow(origins) if len(going) == len(now.rows) else state.take(origins)
        now = UnderWay([now.rows[n] for n in going], *(tensor[places] for tensor in later[1:]))
        token = now.tokens[..., -1:].flatten(0, 1)
    return [best(each, nbest) for each in found]


def worth(total: float, length: int, length_penalty: float) -> float:
    return total / ((5 + length) / 6) ** length_penalty


def begin(batch: int, beams: int, device: torch.device) -> UnderWay:
    """One empty sequence in each row; the other places are taken at the first step."""
    totals = torch.full((batch, beams), -torch.inf, device=device)
    totals[:, 0] = 0.0
    empty = torch.zeros(batch, beams, 0, device=device)
    return UnderWay(list(range(batch)), totals, empty.long(), empty)


def candidates(now: UnderWay, logits: Float[Tensor, "NM V"], rules: Rules) -> Next:
    beams, size = now.totals.shape[1], logits.shape[-1]
    numbers = [row for row in now.rows for _ in range(beams)]
    scores = rules(logits, now.tokens.flatten(0, 1), numbers).unflatten(0, (-1, beams))
    totals, chosen = (now.totals[..., None] + scores).flatten(1).topk(min(2 * beams, beams * size))
    tokens = chosen % size
    return Next(totals, chosen // size, tokens, scores.flatten(1).gather(1, chosen), tokens == rules.end)


def finished(
    now: UnderWay, following: Next, ceilings: Sequence[int], length_penalty: float
) -> Iterator[tuple[int, Found]]:
    """Row numbers of the batch, and what is finished there by this step: an end among the `M` likeliest ways to go on;
    and at the limit, cut, every other sequence."""
    beams, length = now.totals.shape[1], now.tokens.shape[-1]
    columns = (following.totals, following.parents, following.scores, following.ends)
    for n, ways in enumerate(zip(*(column[:, :beams].tolist() for column in columns), strict=True)):
        ended = set()
        for total, parent, score, ends in zip(*ways, strict=True):
            if ends and total > -torch.inf:
                tokens, scores = now.sequence(n, parent)
                ended.add(parent)
                value = worth(total, length + 1, length_penalty)
                yield now.rows[n], Found(value, Decoded(tokens, [*scores, score], cut=False))
        if length == ceilings[now.rows[n]]:
            for place, total in enumerate(now.totals[n].tolist()):
                if place not in ended and total > -torch.inf:
                    value = worth(total, max(1, length), length_penalty)
                    yield now.rows[n], Found(value, Decoded(*now.sequence(n, place), cut=True))


def advance(now: UnderWay, following: Next) -> tuple[UnderWay, Int[Tensor, "N M"]]:
    """The `M` best sequences of each row that do not end, one token longer, and the places they go on from."""
    beams, ways = now.totals.shape[1], following.ends.shape[1]
    ranks = torch.arange(ways, device=following.ends.device)
    order = (ranks + ways * following.ends).argsort(dim=1)[:, :beams]
    totals, parents, tokens, scores = (column.gather(1, order) for column in following[:4])
    totals = totals.masked_fill(following.ends.gather(1, order), -torch.inf)
    before = parents[..., None].expand(-1, -1, now.tokens.shape[-1])
    return UnderWay(
        now.rows,
        totals,
        torch.cat([now.tokens.gather(1, before), tokens[..., None]], dim=-1),
        torch.cat([now.scores.gather(1, before), scores[..., None]], dim=-1),
    ), parents


def goes_on(later: UnderWay, n: int, found: Sequence[Found], ceiling: int, length_penalty: float) -> bool:
    """Whether a row may still find something better, and has room for it."""
    beams, length = later.tokens.shape[1:]
    likeliest = later.totals[n].max().item()
    if length > ceiling or likeliest == -torch.inf:
        return False
    if len(found) < beams:
        return True
    return worth(likeliest, length, length_penalty) > sorted(each.worth for each in found)[-beams]


def best(found: Sequence[Found], nbest: int) -> Decoded:
    """The worthiest, what ended before what was cut, with the next ones in it."""
    order = sorted(found, key=lambda each: (each.decoded.cut, -each.worth))
    first, *others = [each.decoded for each in order[:nbest]]
    return first._replace(others=tuple(others))
