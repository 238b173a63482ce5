"""What the keys of a map are places of, where that is no text: a picture, or a sound."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture whose cells are the keys: key `row * columns + column` is a cell of the grid, counted from the top.

    Raises ValueError where pixels are no `height width 3` array of bytes, or the grid has no cells.
    """

    pixels: np.ndarray
    """Bytes, `height width 3`: red, green, blue."""
    grid: tuple[int, int]
    """Rows and columns."""

    def __post_init__(self) -> None:
        pixels = np.array(self.pixels)
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[-1] != 3 or not pixels.size:
            raise ValueError(
                f"A picture is an array of bytes, (height, width, 3); received {pixels.dtype} of shape {pixels.shape}. "
                "Scale it to 0..255 and call .astype(np.uint8)."
            )
        rows, columns = map(int, self.grid)
        if rows < 1 or columns < 1:
            raise ValueError(f"A grid has at least one row and one column; received {self.grid}.")
        pixels.flags.writeable = False
        object.__setattr__(self, "pixels", pixels)
        object.__setattr__(self, "grid", (rows, columns))

    @property
    def keys(self) -> int:
        return self.grid[0] * self.grid[1]


@dataclass(frozen=True, eq=False)
class Sound:
    """A sound whose stretches of time are the keys: key k lasts from `edges[k]` to `edges[k + 1]`, in seconds.

    Raises ValueError where samples are no finite `T` array, the rate is not above 0, or the edges do not rise.
    """

    samples: np.ndarray
    """`T` numbers from -1 to 1: one channel."""
    rate: int
    """Samples a second."""
    edges: np.ndarray
    """`K + 1` times in seconds."""

    def __post_init__(self) -> None:
        samples, edges = np.array(self.samples, dtype=np.float32), np.array(self.edges, dtype=np.float64)
        if samples.ndim != 1 or not samples.size or not np.isfinite(samples).all():
            raise ValueError(f"A sound is a finite array of samples, one channel; received shape {samples.shape}.")
        if self.rate < 1:
            raise ValueError(f"A sampling rate is above 0, in samples a second; received {self.rate}.")
        if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise ValueError(f"The edges of K stretches are K + 1 rising times in seconds; received {edges.tolist()}.")
        for name, array in (("samples", samples), ("edges", edges)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def keys(self) -> int:
        return len(self.edges) - 1


def arrays(shown: Picture | Sound | None) -> dict[str, Any]:
    """What an npz keeps of a picture or a sound."""
    if isinstance(shown, Picture):
        return {"pixels": shown.pixels, "grid": np.array(shown.grid)}
    if isinstance(shown, Sound):
        return {"samples": shown.samples, "rate": np.array(shown.rate), "edges": shown.edges}
    return {}


def from_arrays(kept: Mapping[str, np.ndarray]) -> Picture | Sound | None:
    """What `arrays` gave."""
    if "pixels" in kept:
        rows, columns = kept["grid"]
        return Picture(kept["pixels"], (int(rows), int(columns)))
    if "samples" in kept:
        return Sound(kept["samples"], int(kept["rate"]), kept["edges"])
    return None
