"""Maps over a picture: the picture itself, then a panel a query that is bright where the query looked."""

import math
import os
from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from core.maps.attention_map import AttentionMap, visible
from core.maps.inputs import Picture
from core.maps.page import (
    GAP,
    INK,
    LINE,
    MARGIN,
    RULE,
    Lettering,
    add_axes,
    blank,
    draw_heading,
    heading_width,
    save,
)

WIDE, SIDE, LEAST, MOST = 2000, 330, 24, 60
"""Pixels: the most that a row of panels takes, a panel's longer side, the least of its shorter; the most panels."""
WORD = 9.0
"""Points of the words under the panels."""
DIM, LIT, LUMINANCE = 0.45, 0.25, np.array([0.299, 0.587, 0.114])
"""What is left of the brightness of a place without weight; how far one with the most weight goes towards white."""
OWN_WORDS = FIRST, NOWHERE = "the picture", "nothing attended"
SMALL_PRINT = "bright: attended; each panel from 0 to its own largest weight, which is the number under it"

Pixels = Float[np.ndarray, "height width 3"]


def draw_overlay(map: AttentionMap, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write a PNG of a map whose keys are the cells of a picture. Raises ValueError for a map without a picture."""
    return save(lambda: overlay_figure(map, title), path)


def overlay_figure(map: AttentionMap, title: str | None = None) -> Figure:
    """The picture, then a panel a query with the weights of the mean of the heads, in reading order.

    Brightness is a weight's share of the largest of its own panel, which is written under it: a panel is dim and grey
    at 0, lit and in full colour at its largest. Of more queries than fit, the first are drawn, and a line under the
    title says so. Raises ValueError for a map without a picture.
    """
    shown, mean = _shown(map), map.mean()
    sheet = _Sheet(mean, shown, title)
    page = blank(sheet.width, sheet.height)
    draw_heading(page, sheet.lettering, sheet.title, sheet.notes)
    photo = resampled(shown.pixels / 255, sheet.down, sheet.across)
    _draw_panel(page, sheet, 0, photo, (FIRST, ""))
    for place, (word, row) in enumerate(zip(sheet.words, mean.weights[0], strict=False), start=1):
        largest = f"{row.max():.2f}" if row.any() else NOWHERE
        _draw_panel(page, sheet, place, lit(photo, _share(row, sheet, shown.grid)), (word, largest))
    sheet.lettering.write(page, MARGIN, sheet.height - MARGIN - LINE / 2, SMALL_PRINT, va="center")
    return page


def lit(photo: Pixels, share: Float[np.ndarray, "height width"]) -> Pixels:
    """A picture that is dim and grey where the share is 0, and lit, in its own colours, where it is 1.

    Brightness rises with the share at each pixel, be it black or white.
    """
    share = share[..., None]
    grey = (photo @ LUMINANCE)[..., None]
    return (1 - share) * DIM * grey + share * (LIT + (1 - LIT) * photo)


def resampled(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """An image of another size: cubic between the centres of its pixels, clipped to its own range.

    What lies beyond an edge is taken to be as the edge, so nothing fades there. A large image is averaged first.
    """
    (rows, columns), extent = image.shape[:2], (image.min(), image.max())
    down, across = max(1, rows // height), max(1, columns // width)
    blocks = image[: rows // down * down, : columns // across * across]
    blocks = blocks.reshape(rows // down, down, columns // across, across, -1).mean(axis=(1, 3))
    into = _cubic(blocks.shape[0], height), _cubic(blocks.shape[1], width)
    larger = np.einsum("yr,rcd,xc->yxd", into[0], blocks, into[1], optimize=True)
    return np.clip(larger, *extent).reshape(height, width, *image.shape[2:])


def _cubic(size: int, larger: int) -> Float[np.ndarray, "larger size"]:
    """How much of each of `size` samples goes into each of `larger` ones (Catmull and Rom's curve through them)."""
    at = (np.arange(larger) + 0.5) * size / larger - 0.5
    first, t = np.floor(at).astype(int), at % 1
    parts = [-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2]
    mixture = np.zeros((larger, size))
    for step, part in zip(range(-1, 3), parts, strict=True):
        np.add.at(mixture, (np.arange(larger), np.clip(first + step, 0, size - 1)), part / 2)
    return mixture


class _Sheet:
    """What goes where, in pixels from the top left corner, before anything is drawn."""

    def __init__(self, mean: AttentionMap, shown: Picture, title: str | None) -> None:
        self.words = [visible(each) for each in mean.queries[: MOST - 1]]
        self.title = visible(title or mean.name, 90)
        self.notes = [visible(mean.name, 90)] * bool(title) + ["{} × {} cells".format(*shown.grid)]
        if len(self.words) < len(mean.queries):
            self.notes += [f"the first {len(self.words)} of {len(mean.queries)} queries drawn"]
        self.lettering = Lettering.of([self.title, *self.notes, *self.words])
        self._place(*shown.pixels.shape[:2])

    def _place(self, height: int, width: int) -> None:
        longer = SIDE / max(height, width)
        self.across, self.down = max(LEAST, round(longer * width)), max(LEAST, round(longer * height))
        room = max(self.across, math.ceil(self.lettering.length(*self.words, *OWN_WORDS, size=WORD)))
        self.pitch = room + round(GAP), self.down + 96
        panels = len(self.words) + 1
        most = max(1, (WIDE + round(GAP)) // self.pitch[0])
        rows = max(math.ceil(panels / most), round(math.sqrt(panels * self.pitch[0] / self.pitch[1] / 2)))
        self.columns = math.ceil(panels / rows)
        self.top = round(MARGIN + 3.4 * LINE)
        right = MARGIN + self.columns * self.pitch[0] - GAP
        foot = MARGIN + self.lettering.length(SMALL_PRINT)
        self.width = math.ceil(max(right, foot, heading_width(self.lettering, self.title, self.notes)) + MARGIN)
        self.height = self.top + math.ceil(panels / self.columns) * self.pitch[1] + round(LINE + MARGIN)

    def corner(self, place: int) -> tuple[int, int]:
        """The top left corner of a panel, in whole pixels, so that the picture comes out as it was made."""
        row, column = divmod(place, self.columns)
        middle = (self.pitch[0] - round(GAP) - self.across) // 2
        return round(MARGIN) + column * self.pitch[0] + middle, self.top + row * self.pitch[1]


def _draw_panel(page: Figure, sheet: _Sheet, place: int, pixels: Pixels, lines: tuple[str, str]) -> None:
    x, y = sheet.corner(place)
    axes = add_axes(page, x, y, sheet.across, sheet.down)
    axes.imshow(np.clip(pixels, 0, 1), aspect="auto", interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(color=RULE, linewidth=0.8)
    middle, below = x + sheet.across / 2, y + sheet.down
    sheet.lettering.write(page, middle, below + 28, lines[0], size=WORD, color=INK, ha="center", va="center")
    sheet.lettering.write(page, middle, below + 60, lines[1], ha="center", va="center")


def _share(row: Float[np.ndarray, " K"], sheet: _Sheet, grid: tuple[int, int]) -> Float[np.ndarray, "height width"]:
    """The weights over the panel, as shares of their largest; zeros where nothing was attended."""
    return resampled((row / (row.max() or 1)).reshape(grid), sheet.down, sheet.across)


def _shown(map: AttentionMap) -> Picture:
    if isinstance(map.shown, Picture):
        return map.shown
    has = "a sound; draw it with draw_spectrogram" if map.shown else "only labels; draw it with core.maps.png.draw"
    raise ValueError(f"An overlay needs a map whose keys are the cells of a picture; {map.name!r} shows {has}.")
