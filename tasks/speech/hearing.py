"""Does the gaze listen to a word while it is said? Scores of maps, where it is known when that was."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.data import MapScores
from core.maps import AttentionMap
from core.maps.monotonicity import forward_share, mass_within, uniform_within
from core.maps.scores import at_offset
from core.metrics import Score
from tasks.speech.examples import Example
from tasks.speech.features import HOP, TOGETHER

OFFSETS = (0, 1)
"""Steps after the one that says a character."""
Frames = dict[int, tuple[int, int]]


def frames_of(example: Example, keys: int) -> Frames:
    """For each character whose time is known the frames whose middles are in it, and at least the nearest one."""
    frames: Frames = {}
    for first, last, start, end in example.recording.said:
        begin = min(int(np.ceil(start / (HOP * TOGETHER))), keys - 1)
        stop = min(max(int(np.ceil(end / (HOP * TOGETHER))), begin + 1), keys)
        frames |= {at: (begin, stop) for at in range(first, min(last, len(example.ids)))}
    return frames


class Heard:
    """The gaze of some examples: sums over examples of what the scores are means of."""

    def __init__(self, examples: Sequence[Example], maps: Sequence[Sequence[AttentionMap]]) -> None:
        self.mass: dict[tuple[str, int, int], list[float]] = {}
        self.forward: dict[tuple[str, int], list[float]] = {}
        self.uniform: list[float] = []
        for example, found in zip(examples, maps, strict=True):
            for map in found:
                self.add(example, map)

    def add(self, example: Example, map: AttentionMap) -> None:
        keys = map.weights.shape[-1]
        frames = frames_of(example, keys)
        if frames:
            self.uniform += [uniform_within(frames, keys)]
        if len(example.ids) > 1:
            for head, share in enumerate(forward_share(map.weights[:, : len(example.ids)])):
                self.forward.setdefault((map.name, head), []).append(float(share))
        for offset in OFFSETS if frames else ():
            for head, mass in enumerate(mass_within(at_offset(map.weights, offset), frames)):
                self.mass.setdefault((map.name, head, offset), []).append(float(mass))

    def readings(self) -> list[dict[str, Any]]:
        """Every head and offset, the best first."""
        found = [
            {"module": module, "head": head, "offset": offset, "mass within": mean(values)}
            for (module, head, offset), values in self.mass.items()
        ]
        return sorted(found, key=lambda reading: -reading["mass within"])


def mean(values: Sequence[float]) -> float:
    return float(np.nanmean(values))


def scores(validation: Heard, test: Heard, what: str) -> MapScores:
    """Of the test examples, by the head and the step that are best on validation; and whether the gaze goes forward,
    of the same head."""
    readings = validation.readings()
    if not readings or not test.mass:
        if not test.forward:
            return MapScores({}, [])
        (module, head), shares = max(test.forward.items(), key=lambda item: mean(item[1]))
        return MapScores({"steps forward": forward(shares, module, head)}, [])
    module, head, offset = (readings[0][name] for name in ("module", "head", "offset"))
    how = f"of {module}, head {head}, {'at' if not offset else 'after'} the step that says a character; {what}"
    found = {
        "mass within": Score(mean(test.mass[module, head, offset]), f"{how}; chosen on validation"),
        "mass within, uniform": Score(mean(test.uniform), "of looking at all frames alike"),
    }
    if (module, head) in test.forward:
        found["steps forward"] = forward(test.forward[module, head], module, head)
    return MapScores(found, readings)


def forward(shares: Sequence[float], module: str, head: int) -> Score:
    return Score(mean(shares), f"of steps whose expected frame does not go back, {module}, head {head}; chance 0.5")


def not_listening(heard: Heard) -> str | None:
    readings = heard.readings()
    if not readings or readings[0]["mass within"] > 1.2 * mean(heard.uniform):
        return None
    return (
        f"the gaze has {readings[0]['mass within']:.2f} of its weight on what is being said, and looking at all frames "
        f"alike has {mean(heard.uniform):.2f}"
    )
