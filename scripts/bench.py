"""Measures what the attention core promises about time and memory.

    python scripts/bench.py local       windowed self-attention at 1k to 16k tokens, and the masked dense form at 4k
    python scripts/bench.py additive    additive attention, 32 x 50 queries x 1,000 keys x width 256
    python scripts/bench.py roads       the fused kernel and the explicit road, by length and precision

Times are CPU times of one thread, so that whatever else the machine does counts little. Memory is the peak of a
process of its own, above its peak after imports, a small warm-up and making its inputs.
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

# So that a checkout runs without having been installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from core import masks  # noqa: E402
from core.attention import (  # noqa: E402
    AdditiveAttention,
    LocalAttention,
    MultiHeadAttention,
    ScaledDotProductAttention,
    dot_form,
)

BEFORE, AFTER = 64, 63  # and the token itself: a window of 128 in all
LENGTHS = [1024, 2048, 4096, 8192, 16384]
ROAD_LENGTHS = [8, 16, 32, 64, 128, 256]
REPEATS = 5
Step = Callable[[], None]


def main() -> None:
    what, *more = sys.argv[1:] or ["--help"]
    if what in ("local", "additive", "roads") and not more:
        {"local": local, "additive": additive, "roads": roads}[what]()
    elif what in STEPS and len(more) == 1 and more[0].isdigit():
        print(json.dumps(measure(STEPS[what], int(more[0]))))
    else:
        sys.exit(__doc__)


# What is measured: each makes a step of a size.


def windowed(tokens: int) -> Step:
    local_attention = partial(LocalAttention, ScaledDotProductAttention, before=BEFORE, after=AFTER)
    attention = MultiHeadAttention(local_attention, query_dim=64, heads=4)
    return training_step(attention, torch.randn(1, tokens, 64))


def dense(tokens: int) -> Step:
    attention = MultiHeadAttention(ScaledDotProductAttention, query_dim=64, heads=4)
    return training_step(attention, torch.randn(1, tokens, 64), masks.local(tokens, tokens, BEFORE, AFTER))


def attend_additively(keys: int) -> Step:
    attention = AdditiveAttention(query_dim=256, key_dim=256)
    return training_step(attention, torch.randn(32, 50, 256), None, torch.randn(32, keys, 256))


STEPS = {"windowed": windowed, "dense": dense, "attend_additively": attend_additively}


def training_step(attention: nn.Module, query: Tensor, mask: Tensor | None = None, keys: Tensor | None = None) -> Step:
    """Forward and backward, with gradients for inputs and parameters."""
    query.requires_grad_()
    keys = query if keys is None else keys.requires_grad_()
    return lambda: attention(query, keys, keys, mask).sum().backward()


def measure(make: Callable[[int], Step], size: int) -> dict[str, float]:
    """Median seconds of a step, and the MiB that the first one needed."""
    torch.set_num_threads(1)
    make(size // 16)()
    step = make(size)
    baseline = peak_mebibytes()
    step()
    mebibytes = peak_mebibytes() - baseline
    return {"seconds": statistics.median(seconds(step) for _ in range(REPEATS)), "mebibytes": mebibytes}


def seconds(step: Step) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start


def peak_mebibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def in_own_process(what: str, size: int) -> dict[str, float]:
    run = subprocess.run([sys.executable, __file__, what, str(size)], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


# The three tables.


def local() -> None:
    table = table_of(
        f"local self-attention, forward and backward: width 64, 4 heads, {BEFORE} before and {AFTER} after",
        ["tokens", "CPU ms", "growth", "MiB", "growth"],
    )
    found: dict[int, dict[str, float]] = {}
    for length in LENGTHS:
        found[length] = in_own_process("windowed", length)
        table.add_row(f"{length:,}", *growth(found[length], found.get(length // 2)))
    dense_seconds = in_own_process("dense", 4096)["seconds"]
    table.add_section()
    # No memory here: making the mask takes more than the step, and so hides it.
    table.add_row("4,096 dense, masked", f"{dense_seconds * 1e3:.0f}")
    Console().print(table)
    ratio = dense_seconds / found[4096]["seconds"]
    print(f"At 4,096 tokens the local road is {ratio:.1f} times as fast as the masked dense form.")


def growth(now: dict[str, float], before: dict[str, float] | None) -> list[str]:
    """Milliseconds and MiB, each with its ratio to what half the length took."""
    ratios = {key: f"{now[key] / before[key]:.2f}" if before and before[key] else "" for key in now}
    return [f"{now['seconds'] * 1e3:.0f}", ratios["seconds"], f"{now['mebibytes']:.0f}", ratios["mebibytes"]]


def additive() -> None:
    found = in_own_process("attend_additively", 1000)
    table = table_of("additive attention, forward and backward", ["size", "CPU seconds", "MiB"])
    table.add_row("32 x 50 queries x 1,000 keys x width 256", f"{found['seconds']:.2f}", f"{found['mebibytes']:.0f}")
    Console().print(table)


def roads() -> None:
    """One training step of 2,048 tokens in multi-head attention, the least time of several."""
    torch.set_num_threads(1)
    attention = MultiHeadAttention(ScaledDotProductAttention, query_dim=256, heads=8)
    ways = ["explicit", "fused", "fused in float32"]
    table = table_of(
        "multi-head attention, forward and backward: 2,048 tokens, 8 heads x 32, padding mask; ms",
        ["tokens a side", *(f"bfloat16 {way}" for way in ways), *(f"float32 {way}" for way in ways[:2])],
    )
    for length in ROAD_LENGTHS:
        inputs, mask = torch.randn(2048 // length, length, 256), torch.ones(2048 // length, 1, length) > 0
        step = training_step(attention, inputs, mask)
        ran = [partial(by_road, step, way, True) for way in ways] + [
            partial(by_road, step, way, False) for way in ways[:2]
        ]
        # Taking turns, so that what else the machine does falls on all of them.
        rounds = [[seconds(each) for each in ran] for _ in range(8)]
        table.add_row(str(length), *(f"{min(times) * 1e3:.1f}" for times in zip(*rounds, strict=True)))
    Console().print(table)


def by_road(step: Step, way: str, half: bool) -> None:
    with (
        torch.autocast("cpu", torch.bfloat16, enabled=half),
        mock.patch.object(dot_form, "fused_pays", lambda *_: way != "explicit"),
        mock.patch.object(dot_form, "kernel_type", lambda dtype, _: dtype if way == "fused" else torch.float32),
    ):
        step()


def table_of(title: str, columns: list[str]) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right")
    return table


if __name__ == "__main__":
    main()
