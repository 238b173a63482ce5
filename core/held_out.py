"""Examples set apart for validation and test, where a set has none."""

import random
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from core.public import DataError

SPLITS = ("train", "validation", "test")
E = TypeVar("E")
K = TypeVar("K", bound=Hashable)


def share(count: int, held_out: int, missing: Sequence[str], *, things: str, instead: str) -> int:
    """How many of so many training examples each missing split gets: `held_out`, but never more than a tenth.

    Raises:
        DataError: if that is none; `instead` is what the missing splits could come from.
    """
    size = min(held_out, count // 10)
    if missing and size < 1:
        raise DataError(
            f"there are {count} {things}, too few to set some apart for {' and '.join(missing)}: give at least 10, or "
            f"{instead}, and a data.held_out of 1 or more"
        )
    return size


def drawn(kinds: Iterable[K], size: int, missing: Sequence[str], *, seed: int) -> dict[K, str]:
    """So many kinds for each missing split: which one each of them goes to, with all of its examples."""
    order = list(kinds)
    random.Random(seed).shuffle(order)
    return {kind: split for n, split in enumerate(missing) for kind in order[n * size : (n + 1) * size]}


def with_held_out(found: Mapping[str | None, list[E]], held_out: int, *, seed: int) -> dict[str, list[E]]:
    """The splits; examples of none are train, and validation and test, where missing, are drawn from train: never more
    than a tenth of it each."""
    splits = {split: [*found.get(split, [])] for split in SPLITS}
    splits["train"] += found.get(None, [])
    missing = [split for split in SPLITS[1:] if not splits[split]]
    size = share(len(splits["train"]), held_out, missing, things="examples", instead="name splits in a column `split`")
    if missing:
        random.Random(seed).shuffle(splits["train"])
    for split in missing:
        splits[split], splits["train"] = splits["train"][:size], splits["train"][size:]
    return splits
