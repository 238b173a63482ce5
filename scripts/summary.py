"""The numbers of a comparison: each member's, and the mean and spread of each group over its seeds."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from members import Member
from trainings import Outcome

SECONDS, MEBIBYTES, PARAMETERS = "training seconds", "peak MiB", "parameters"
COSTS = (SECONDS, MEBIBYTES, PARAMETERS)

Result = tuple[Member, Outcome]


class Spread(NamedTuple):
    """A figure over the seeds of a group."""

    mean: float
    deviation: float | None
    """The standard deviation of the sample, over n - 1; None for a single value."""
    number: int

    def __str__(self) -> str:
        """ "0.924 ± 0.003": a mean with as many places as its size asks for, the deviation with as many."""
        places = 3 if abs(self.mean) < 1.5 else 2 if abs(self.mean) < 100 else 1 if abs(self.mean) < 1000 else 0
        mean = f"{self.mean:,.{places}f}"
        return f"{mean} ± {self.deviation:,.{places}f}" if self.deviation else mean


class Group(NamedTuple):
    """The members that differ in nothing but their seeds."""

    choice: dict[str, str]
    seeds: int
    """How many of them are finished."""
    figures: dict[str, Spread]


class Summary(NamedTuple):
    """What the tables are made of: names of keys and figures as columns, groups as rows."""

    keys: list[str]
    figures: list[str]
    groups: list[Group]


def figures_of(outcome: Outcome) -> dict[str, float]:
    """Every test score of a finished training, and what it cost; what is not known or no number is left out."""
    metrics = outcome.metrics
    found: dict[str, Any] = {name: score.get("value") for name, score in metrics.get("test", {}).items()}
    found[SECONDS] = metrics.get("training", {}).get("seconds")
    found[MEBIBYTES] = outcome.mebibytes if metrics else None
    found[PARAMETERS] = metrics.get("parameters")
    return {name: float(value) for name, value in found.items() if value is not None and math.isfinite(value)}


def summary_of(results: Iterable[Result]) -> Summary:
    """Groups in the order of their first members; figures in the order of the scores, then the costs."""
    groups: dict[tuple[str, ...], list[Result]] = {}
    for member, outcome in results:
        groups.setdefault(tuple(member.group.values()), []).append((member, outcome))
    found = [group_of(members) for members in groups.values()]
    names = dict.fromkeys(name for group in found for name in group.figures)
    keys = list(found[0].choice) if found else []
    return Summary(keys, [*(name for name in names if name not in COSTS), *(c for c in COSTS if c in names)], found)


def group_of(results: Sequence[Result]) -> Group:
    columns: dict[str, list[float]] = {}
    for _, outcome in results:
        for name, value in figures_of(outcome).items():
            columns.setdefault(name, []).append(value)
    member, _ = results[0]
    choice = member.group or {"attention": member.config["choices"]["attention"]}
    finished = sum(bool(outcome.metrics) for _, outcome in results)
    return Group(choice, finished, {name: spread(values) for name, values in columns.items()})


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))


def table_of(summary: Summary, names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Head and rows for people: a figure as "mean ± deviation", blank where no seed has it."""
    rows = [
        [*group.choice.values(), str(group.seeds), *(str(group.figures.get(name, "")) for name in names)]
        for group in summary.groups
    ]
    return [*summary.keys, "seeds", *names], rows


def wide_table_of(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Head and rows for programs: mean and deviation in columns of their own, with all their digits."""
    head = [f"{name} {what}" for name in summary.figures for what in ("mean", "deviation")]
    rows = []
    for group in summary.groups:
        cells = [cell for name in summary.figures for cell in (group.figures.get(name) or (None, None))[:2]]
        rows.append([*group.choice.values(), str(group.seeds), *map(written, cells)])
    return [*summary.keys, "seeds", *head], rows


def member_table_of(results: Sequence[Result], names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """A row a member: its choice, what became of it, where it is, and its figures."""
    keys = list(results[0][0].choice) if results else []
    rows = []
    for member, outcome in results:
        figures: Mapping[str, float] = figures_of(outcome)
        cells = [written(figures.get(name)) for name in names]
        run = str(outcome.run or "")
        rows.append([*member.choice.values(), outcome.state, member.key, run, written(outcome.seconds), *cells])
    return [*keys, "state", "key", "run", "seconds in all", *names], rows


def written(value: float | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def most_telling(names: Sequence[str]) -> list[str]:
    """The figures with the most important first: scores, what they cost, then controls and variants of a score."""
    scores = [name for name in names if name not in COSTS]
    own = [name for name in scores if "," not in name and not any(name.startswith(f"{other}_") for other in scores)]
    return [*own, *(name for name in names if name in COSTS), *(name for name in scores if name not in own)]
