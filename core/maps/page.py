"""What all pictures share: colours, type, and a page measured in pixels from its top left corner."""

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from core.files import whole_file
from core.maps.fonts import families_for

INK, GREY, RULE, NOTHING = "#1c223c", "#747b8f", "#e4e8f0", "#efedea"
SHADES = ["#ffffff", "#d2eafd", "#a5d3f9", "#75b8f1", "#4298df", "#1973bc", "#1a518f", "#203763", INK]
COLOURS = LinearSegmentedColormap.from_list("attention", SHADES).with_extremes(bad=NOTHING)
"""White to ink in equal steps of CIELAB distance, so that equal differences of weight look equal."""

TITLE, SMALL, DPI = 10.5, 7.5, 200
"""Type in points."""
MARGIN, GAP, LINE, RAMP = 36.0, 26.0, 34.0, 190.0
"""Pixels: round the picture, between panels, of a line of small type, and of the legend's colours."""

Length = float | int
"""Of pixels."""


@dataclass(frozen=True)
class Lettering:
    """How all text of a picture is set: in font families that together show its characters."""

    families: list[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Lettering":
        """Families for these texts; warns once where no installed font has their characters."""
        return cls(families_for("".join(texts)))

    def style(self, *, size: float = SMALL, color: str = GREY, **more: Any) -> dict[str, Any]:
        """Settings of a text. Without `parse_math=False` a pair of dollar signs would make a formula."""
        return {"fontsize": size, "color": color, "family": self.families, "parse_math": False, **more}

    def write(self, picture: Figure, x: Length, y: Length, text: str, **how: Any) -> None:
        """Put a text at a place in pixels from the top left corner."""
        picture.text(x / picture.bbox.width, 1 - y / picture.bbox.height, text, **self.style(**how))

    def length(self, *texts: str, **how: Any) -> float:
        """Pixels that the longest text takes once it is set; of many, only those of the most bytes are measured."""
        canvas = FigureCanvasAgg(Figure((1, 1), dpi=DPI))
        lines = [
            canvas.figure.text(0, 0, each, **self.style(**how))
            for each in sorted(set(texts), key=lambda text: len(text.encode()))[-12:]
        ]
        return max(line.get_window_extent(canvas.get_renderer()).width for line in lines)


def blank(width: Length, height: Length) -> Figure:
    """A white page of so many pixels."""
    return FigureCanvasAgg(Figure((width / DPI, height / DPI), dpi=DPI, facecolor="white")).figure


def add_axes(picture: Figure, x: Length, y: Length, width: Length, height: Length) -> Axes:
    """Axes in a box given in pixels, from the top left corner."""
    wide, high = picture.bbox.width, picture.bbox.height
    return picture.add_axes((x / wide, 1 - (y + height) / high, width / wide, height / high))


def draw_heading(picture: Figure, lettering: Lettering, title: str, notes: list[str]) -> None:
    """The title, and a line of small print under it."""
    lettering.write(picture, MARGIN, MARGIN, title, size=TITLE, color=INK, weight="bold", va="top")
    lettering.write(picture, MARGIN, MARGIN + 1.4 * LINE, " · ".join(notes), va="top")


def heading_width(lettering: Lettering, title: str, notes: list[str]) -> float:
    """Pixels that the heading takes, with a margin at its left."""
    widths = lettering.length(title, size=TITLE, weight="bold"), lettering.length(" · ".join(notes))
    return MARGIN + max(widths)


def draw_legend(picture: Figure, lettering: Lettering, x: Length, text: str) -> None:
    """The colours from 0 on at the foot of the page, then the text."""
    y = picture.bbox.height - MARGIN - LINE / 2
    ramp = add_axes(picture, x + 20, y - 7, RAMP, 14.0)
    ramp.imshow(np.linspace(0, 1, 256)[None], cmap=COLOURS, aspect="auto")
    ramp.set(xticks=[], yticks=[])
    ramp.spines[:].set(color=RULE, linewidth=0.8)
    lettering.write(picture, x, y, "0", va="center")
    lettering.write(picture, x + RAMP + LINE, y, text, va="center")


def colour_scale(largest: float) -> float:
    """The weight where the colours end: a round number that no weight exceeds."""
    return min((each for each in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if each > largest - 1e-6), default=1.0)


def thinned(step: int, what: str) -> str:
    """The notice that only every so many labels are shown."""
    suffix = "th" if 10 <= step % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(step % 10, "th")
    return f"every {step}{suffix} {what} shown"


def save(draw: Callable[[], Figure], path: str | os.PathLike[str]) -> Path:
    """Write the picture that `draw` makes as a PNG, whole or not at all."""
    with warnings.catch_warnings(), whole_file(path) as file:
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # `warn_of_boxes` says it once
        draw().savefig(file, format="png", dpi=DPI)
    return Path(path)
