"""Watching attention form: the gaze on the same few examples after every epoch, and an alarm where it does not."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import lightning as L
import numpy as np
from rich.console import Console

from core.data import DemoData
from core.demo import Demo
from core.evaluate import attention_maps
from core.maps import AttentionMap, save_all
from core.maps.scores import entropy

EXAMPLES = 3
ALARM_STEPS = 600
"""After how many training steps a gaze should have taken shape."""
NEARLY_UNIFORM = 0.95
"""Of the entropy that looking everywhere alike has."""
HELP = (
    "What usually helps: another mechanism (attention=additive), more epochs or a larger learning rate, "
    "fewer layers between the inputs and the gaze, data whose outputs the inputs decide."
)


class Forming(L.Callback):
    """Keeps the maps of a few validation examples, their outputs forced, after each epoch: `folder/epoch-003/`.

    After `ALARM_STEPS` it says so where the gaze looks everywhere alike, or no better than its baseline.
    """

    def __init__(self, folder: Path, data: DemoData, console: Console) -> None:
        self.folder, self.data, self.console = folder, data, console
        self.seconds = 0.0
        self.alarmed = False

    def on_validation_end(self, trainer: L.Trainer, model: Demo) -> None:
        start = time.monotonic()
        maps = reference_maps(model, self.data, trainer.current_epoch + 1)
        save_all(maps, self.folder / f"epoch-{trainer.current_epoch + 1:03d}")
        if trainer.global_step >= ALARM_STEPS and not self.alarmed:
            self.alarmed = True
            for trouble in troubles(model, self.data, maps):
                self.console.print(f"attention: {trouble}. {HELP}", style="yellow", highlight=False)
        self.seconds += time.monotonic() - start


def kept(folder: Path) -> list[tuple[str, list[list[AttentionMap]]]]:
    """What `Forming` left in a folder, oldest first: the name of each step, and the maps of its examples."""
    steps = []
    for manifest in sorted(folder.glob("epoch-*/maps.json")):
        by_example: dict[int, list[AttentionMap]] = {}
        for entry in json.loads(manifest.read_text(encoding="utf-8"))["maps"]:
            by_example.setdefault(entry["example"], []).append(AttentionMap.load(manifest.parent / entry["file"]))
        if by_example:
            steps.append((f"epoch {int(manifest.parent.name.removeprefix('epoch-'))}", [*by_example.values()]))
    return steps


def reference_maps(model: Demo, data: DemoData, epoch: int | None = None) -> list[list[AttentionMap]]:
    """The gaze on the first validation examples while their references are forced."""
    found = attention_maps(model, data, data.splits["validation"][:EXAMPLES])
    step = {} if epoch is None else {"step": f"epoch {epoch}"}
    return [
        [
            # What was forced is the reference, and no prediction of this model.
            replace(
                map,
                text=dict(map.text.items() - {("prediction", map.text.get("prediction"))}),
                origin=map.origin | step,
            )
            for map in maps
        ]
        for maps in found
        if maps
    ]


def troubles(model: Demo, data: DemoData, maps: Sequence[Sequence[AttentionMap]]) -> list[str]:
    """What is wrong with the gaze after a while of training, in words."""
    found = []
    spread = [entropy(map.weights) for each in maps for map in each if "beside" not in map.origin]
    sharpest = float(np.nanmin(np.concatenate(spread))) if spread else 0.0
    if sharpest > NEARLY_UNIFORM:
        found.append(
            f"after {ALARM_STEPS} steps every head still looks everywhere alike ({sharpest:.0%} of the entropy)"
        )
    if weak := data.not_aligning(lambda examples: attention_maps(model, data, examples)):
        found.append(f"after {ALARM_STEPS} steps the gaze is not aligning: {weak}")
    return found
