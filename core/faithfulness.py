"""Is attention an explanation? What a prediction loses without the keys that it looked at, beside what it loses without
others (DeYoung et al. 2020, comprehensiveness and sufficiency; Jain and Wallace 2019, leave-one-out)."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from core.data import DemoData
from core.demo import Demo
from core.evaluate import attention_maps
from core.intervene import intervene
from core.maps.bootstrap import bootstrap_interval
from core.maps.scores import rank_correlation
from core.metrics import Score

NEXT_TO_NOTHING = 0.01
"""Nats a token below which a loss is no measure for another."""
EXAMPLES = 20
"""How many examples are tried; a step of each is tried about as often as there are keys."""
ONE_BY_ONE = 768
"""How often single keys of an example are left out, in all its steps together, to rank them. Where that is not enough
for all, it is every second key, or third, ..., the same ones in all steps, but no fewer than `FEWEST`."""
FEWEST = 16
FORBIDDEN, REPLACED = "forbidden", "replaced"
"""The two ways of taking keys away: the gaze may not look at them in the step that is asked about, or other input
stands in their place, and everything is read again."""


class Trial(NamedTuple):
    """A step, and the keys that it has to do without."""

    step: int
    keys: tuple[int, ...]


class Steps(NamedTuple):
    """The steps of one example that can be tried, and what was chosen to be taken away in each."""

    steps: Int[np.ndarray, " N"]
    weights: Float[np.ndarray, "N K"]
    """Between each step and the keys that count, in the mean of all heads of the gaze."""
    keys: Int[np.ndarray, " K"]
    """The keys that count: no special ones."""
    chosen: dict[str, Int[np.ndarray, "N k"]]

    def trials(self, choice: str, *, alone: bool = False) -> list[Trial]:
        """Without the chosen keys, or with the chosen ones alone."""
        found = []
        for step, keys in zip(self.steps, self.chosen[choice], strict=True):
            gone = np.setdiff1d(self.keys, keys) if alone else keys
            found.append(Trial(int(step), tuple(map(int, gone))))
        return found

    def only(self, asked: Sequence[int]) -> "Steps":
        """Those of the steps that are asked about."""
        kept = np.isin(self.steps, list(asked))
        chosen = {name: keys[kept] for name, keys in self.chosen.items()}
        return self._replace(steps=self.steps[kept], weights=self.weights[kept], chosen=chosen)

    @property
    def ranked(self) -> slice:
        """The places, among the keys that count, of those that are left out one by one."""
        most = max(FEWEST, ONE_BY_ONE // max(1, len(self.steps)))
        return slice(None, None, -(-len(self.keys) // most) or None)

    def one_by_one(self) -> list[Trial]:
        return [Trial(int(step), (int(key),)) for step in self.steps for key in self.keys[self.ranked]]


def steps_of(weights: Float[np.ndarray, "Q K"], special: Bool[np.ndarray, " K"], k: int, seed: int) -> Steps:
    """What is taken away in each step that looks anywhere: the k keys with the most weight, the k with the least, k at
    random, and the k with the most in a shuffled row, which knows nothing and should do no better than chance."""
    chance = np.random.default_rng(seed)
    keys = np.flatnonzero(~special)
    steps = np.flatnonzero(weights[:, keys].any(axis=-1)) if len(keys) > k else np.array([], dtype=np.int64)
    rows = weights[np.ix_(steps, keys)]
    order = np.argsort(-rows, axis=-1, kind="stable")
    shuffled = chance.permuted(rows, axis=-1)
    places = {
        "most attended": order[:, :k],
        "random": chance.permuted(np.broadcast_to(np.arange(len(keys)), rows.shape), axis=-1)[:, :k],
        "least attended": order[:, len(keys) - k :],
        "shuffled": np.argsort(-shuffled, axis=-1, kind="stable")[:, :k],
    }
    return Steps(steps, rows, keys, {name: keys[chosen] for name, chosen in places.items()})


class Losses(NamedTuple):
    """What one example loses, in nats of the log-probability of its outputs, by steps."""

    without: dict[str, Float[np.ndarray, " N"]]
    alone: dict[str, Float[np.ndarray, " N"]]
    correlation: Float[np.ndarray, " N"]
    """Spearman's, of a step's weights with what leaving out each key costs; NaN where either is constant."""


@torch.inference_mode()
def faithfulness(
    model: Demo, data: DemoData, examples: Sequence[Any], *, k: int | None = None, seed: int = 0
) -> dict[str, Score]:
    """Scores of the gaze on examples whose outputs are forced; none where no step can be tried.

    `k` keys are taken away together: as many as the data say, unless it is given.

    Every figure is a mean over examples of the mean over their steps, with a 95 % bootstrap interval over examples.
    """
    model.eval()
    k = data.keys_at_once if k is None else k
    losses: dict[str, list[Losses]] = {FORBIDDEN: [], REPLACED: []}
    explaining = attention_maps(model, data, examples, modules=model.explains)
    for number, (example, maps) in enumerate(zip(examples, explaining, strict=True)):
        if not maps:
            continue
        weights = np.concatenate([map.weights for map in maps]).mean(axis=0)
        steps = steps_of(weights, np.array(maps[0].special), k, seed + number)
        steps = steps.only(data.tried(example, len(weights)))
        if len(steps.steps):
            losses[FORBIDDEN].append(lost(Forbidding(model, data, example, weights.shape), steps))
            losses[REPLACED].append(lost(Replacing(model, data, example), steps))
    return {name: score for way, found in losses.items() if found for name, score in summary(way, found, k).items()}


class Forbidding:
    """Log-probabilities of an example's outputs while the gaze may not look at some keys in the step asked about."""

    def __init__(self, model: Demo, data: DemoData, example: Any, shape: tuple[int, int]) -> None:
        self.model, self.data, self.example, self.shape = model, data, example, shape
        self.rows = rows_at_once(data, example)

    def __call__(self, trials: Sequence[Trial]) -> Float[np.ndarray, " N"]:
        return np.concatenate([self.some(trials[at : at + self.rows]) for at in range(0, len(trials), self.rows)])

    def some(self, trials: Sequence[Trial]) -> Float[np.ndarray, " N"]:
        forbidden = torch.zeros(len(trials), *self.shape, dtype=torch.bool)
        for row, trial in enumerate(trials):
            forbidden[row, trial.step, list(trial.keys)] = True
        with intervene(self.model, forbid=forbidden, modules=self.model.explains):
            found = log_probabilities(self.model, self.data, [self.example] * len(trials))
        return np.array([found[row, trial.step] for row, trial in enumerate(trials)])


class Replacing:
    """Log-probabilities of an example's outputs where other input stands in the place of some keys."""

    def __init__(self, model: Demo, data: DemoData, example: Any) -> None:
        self.model, self.data, self.example = model, data, example
        self.rows = rows_at_once(data, example)

    def __call__(self, trials: Sequence[Trial]) -> Float[np.ndarray, " N"]:
        different = list(dict.fromkeys(trial.keys for trial in trials))
        found = {}
        for at in range(0, len(different), self.rows):
            some = different[at : at + self.rows]
            examples = [self.data.without(self.example, keys) for keys in some]
            found |= dict(zip(some, log_probabilities(self.model, self.data, examples), strict=True))
        return np.array([found[trial.keys][trial.step] for trial in trials])


def lost(method: Forbidding | Replacing, steps: Steps) -> Losses:
    before = log_probabilities(method.model, method.data, [method.example])[0, steps.steps]
    left_out = before[:, None] - method(steps.one_by_one()).reshape(len(steps.steps), -1)
    return Losses(
        {choice: before - method(steps.trials(choice)) for choice in steps.chosen},
        {choice: before - method(steps.trials(choice, alone=True)) for choice in ("most attended", "random")},
        np.array([rank_correlation(*pair) for pair in zip(steps.weights[:, steps.ranked], left_out, strict=True)]),
    )


def rows_at_once(data: DemoData, example: Any) -> int:
    """How many copies of an example make a batch as large as those of `DemoData.batches`."""
    return max(1, 4 * data.tokens_per_batch // max(1, data.size(example)))


@torch.inference_mode()
def log_probabilities(model: Demo, data: DemoData, examples: Sequence[Any]) -> Float[np.ndarray, "B Q"]:
    batch = model.transfer_batch_to_device(data.collate(examples), model.device, 0)
    found: Tensor = model.log_probabilities(batch)
    return found.double().cpu().numpy()


def compared(most: float, random: float) -> str:
    """What the most attended keys cost, measured by what random ones do."""
    if most <= random:
        return "no more than a random one"
    return (
        f"{most / random:.1f} times a random one" if random > NEXT_TO_NOTHING else "a random one costs next to nothing"
    )


def summary(way: str, losses: Sequence[Losses], k: int) -> dict[str, Score]:
    """The figures of one way of taking keys away."""
    keys = "key" if k == 1 else f"{k} keys"
    without = {choice: by_example(each.without[choice] for each in losses) for choice in losses[0].without}
    alone = {choice: by_example(each.alone[choice] for each in losses) for choice in losses[0].alone}
    most, random = without["most attended"].mean(), without["random"].mean()
    times = compared(most, random)
    found = {
        f"{way}, most attended": score(
            without["most attended"], f"nats lost without the most attended {keys}; {times}"
        ),
        f"{way}, random": score(without["random"], f"nats lost without a random {keys}"),
        f"{way}, least attended": score(without["least attended"], f"nats lost without the least attended {keys}"),
        f"{way}, shuffled - random": score(
            without["shuffled"] - without["random"], "control: by shuffled attention; the interval should include 0"
        ),
        f"{way} all others": score(alone["most attended"], f"nats lost with the most attended {keys} alone"),
        f"{way} all others, random": score(alone["random"], f"nats lost with a random {keys} alone"),
    }
    ranked = [each.correlation[~np.isnan(each.correlation)] for each in losses]
    if any(len(each) for each in ranked):
        correlations = by_example(each for each in ranked if len(each))
        found[f"{way}, rank correlation"] = score(
            correlations,
            "Spearman's, of weights with what leaving out a key costs; of long inputs, keys at even distances",
        )
    return {f"faithfulness, {name}": each for name, each in found.items()}


def by_example(steps: Iterator[Float[np.ndarray, " _"]]) -> Float[np.ndarray, " N"]:
    return np.array([each.mean() for each in steps])


def score(values: Float[np.ndarray, " N"], what: str) -> Score:
    low, high = bootstrap_interval(values.tolist())
    return Score(float(values.mean()), f"{what}; 95 % interval {low:.3f} to {high:.3f}, {len(values)} examples")
