"""Maps over a sound: its spectrogram, and below it, on the same axis of seconds, where each query listened."""

import math
import os
from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.maps.attention_map import AttentionMap, visible
from core.maps.inputs import Sound
from core.maps.page import (
    COLOURS,
    DPI,
    GAP,
    INK,
    LINE,
    MARGIN,
    NOTHING,
    RAMP,
    RULE,
    Lettering,
    add_axes,
    blank,
    colour_scale,
    draw_heading,
    draw_legend,
    heading_width,
    save,
    thinned,
)

NARROW, WIDE, SECOND, HIGH, ROW, SOUND = 900, 1900, 300, 1500, 44, 300
"""Pixels: the least and the most across, a second, the most that all rows take, a row, and the spectrogram's height."""
WINDOW, HOP, FRAMES, RANGE, QUIET = 0.025, 0.01, 20_000, 70.0, 1e-7
"""Seconds of a window and between two, the most windows, decibels that the shades span, and what counts as silence."""


def draw_spectrogram(map: AttentionMap, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write a PNG of a map whose keys are stretches of a sound. Raises ValueError for a map without a sound."""
    return save(lambda: spectrogram_figure(map, title), path)


def spectrogram_figure(map: AttentionMap, title: str | None = None) -> Figure:
    """The sound on top; below, a row a query with the weights of the mean of the heads, at the keys' own times.

    Both have the same axis of seconds, which covers the sound and every key. Keys narrower than a pixel are averaged,
    and of many labels every n-th is shown; a line under the title says both. Raises ValueError for a map without a
    sound.
    """
    sound, mean = _sound(map), map.mean()
    sheet = _Sheet(mean, sound, title)
    page = blank(sheet.width, sheet.height)
    draw_heading(page, sheet.lettering, sheet.title, sheet.notes)
    _draw_sound(add_axes(page, sheet.left, sheet.top, sheet.across, SOUND), sheet, sound)
    _draw_rows(add_axes(page, sheet.left, sheet.top + SOUND + GAP, sheet.across, sheet.down), sheet, mean, sound)
    draw_legend(page, sheet.lettering, sheet.left, sheet.legend)
    return page


def spectrogram(sound: Sound) -> tuple[Float[np.ndarray, "frequencies frames"], float]:
    """Decibels to the loudest place, from 0 Hz to half the rate, and the seconds from one frame to the next.

    Frame i is centred at i times these seconds; beyond its ends the sound is silent.
    """
    size = max(8, round(WINDOW * sound.rate))
    hop = max(1, round(HOP * sound.rate), math.ceil(len(sound.samples) / FRAMES))
    padded = np.pad(sound.samples, (size // 2, size))
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[: len(sound.samples) : hop]
    magnitudes = np.abs(np.fft.rfft(frames * np.hanning(size).astype(np.float32), axis=-1)).T / size
    loudest = max(float(magnitudes.max()), QUIET * 10 ** (RANGE / 20))
    return 20 * np.log10(np.maximum(magnitudes, QUIET) / loudest), hop / sound.rate


def over_time(
    weights: Float[np.ndarray, "Q K"], edges: Float[np.ndarray, " edges"], columns: Float[np.ndarray, " more"]
) -> Float[np.ndarray, "Q columns"]:
    """Weights at columns of time between the given times: a mean over the keys in a column, NaN where there is none."""
    until = np.pad(np.cumsum(weights * np.diff(edges), axis=-1), ((0, 0), (1, 0)))
    inside = np.stack([np.interp(columns, edges, each) for each in until])
    seconds = np.diff(np.clip(columns, edges[0], edges[-1]))
    return np.diff(inside, axis=-1) / np.where(seconds > 1e-6 * np.diff(columns), seconds, np.nan)


class _Sheet:
    """What goes where, in pixels from the top left corner, before anything is drawn."""

    def __init__(self, mean: AttentionMap, sound: Sound, title: str | None) -> None:
        self.start = min(0.0, float(sound.edges[0]))
        self.end = max(len(sound.samples) / sound.rate, float(sound.edges[-1]))
        self.across = round(min(max((self.end - self.start) * SECOND, NARROW), WIDE))
        self.queries = [visible(each) for each in mean.queries]
        row = min(ROW, HIGH / len(self.queries))
        self.down = round((math.floor(row) if row >= 1 else row) * len(self.queries))
        self.type_size = min(9.5, max(6.0, 0.6 * row * 72 / DPI))
        self.step = math.ceil(1.25 * self.type_size * DPI / 72 / row)
        self.scale = colour_scale(float(mean.weights.max()))
        self.title = visible(title or mean.name, 90)
        self.notes = [visible(mean.name, 90)] * bool(title)
        self.notes += [thinned(self.step, "label")] * (self.step > 1)
        narrow = np.diff(sound.edges).min() * self.across / (self.end - self.start) < 1
        self.notes += ["neighbouring cells averaged to fit"] * bool(narrow or row < 1)
        self.notes += [f"colours end at {self.scale:g}"] * (self.scale < 1)
        covered = sound.edges[0] <= self.start and sound.edges[-1] >= self.end
        grey = not covered or not mean.weights.any(axis=-1).all()
        self.legend = f"{self.scale:g}   attention weight" + "     grey: nothing attended" * bool(grey)
        self.axis = visible(mean.origin.get("rows", "target"))
        self.lettering = Lettering.of([self.title, *self.notes, *self.queries, self.axis])
        self._place()

    def _place(self) -> None:
        labels = self.lettering.length(*self.queries, "00", size=self.type_size)
        self.left = round(MARGIN + LINE + labels + GAP)
        self.top = round(MARGIN + (3.4 if self.notes else 2.2) * LINE)
        legend = self.left + RAMP + LINE + self.lettering.length(self.legend)
        heading = heading_width(self.lettering, self.title, self.notes)
        self.width = math.ceil(max(self.left + self.across + GAP, legend, heading) + MARGIN)
        self.height = math.ceil(self.top + SOUND + GAP + self.down + 4 * LINE + MARGIN)


def _draw_sound(axes: Axes, sheet: _Sheet, sound: Sound) -> None:
    decibels, hop = spectrogram(sound)
    top = sound.rate / 2000
    half = top / (len(decibels) - 1) / 2
    extent = (-hop / 2, (decibels.shape[1] - 0.5) * hop, -half, top + half)
    axes.imshow(decibels, aspect="auto", origin="lower", extent=extent, cmap="Greys", vmin=-RANGE, vmax=0)
    axes.set(xlim=(sheet.start, sheet.end), ylim=(0, top))
    axes.set_ylabel("kHz", labelpad=6, **sheet.lettering.style())
    axes.tick_params(labelbottom=False)
    _set_type(axes, sheet)


def _draw_rows(axes: Axes, sheet: _Sheet, mean: AttentionMap, sound: Sound) -> None:
    columns = np.linspace(sheet.start, sheet.end, sheet.across + 1)
    cells = over_time(mean.weights[0], sound.edges, columns)
    cells[~mean.weights[0].any(axis=-1)] = np.nan
    rows = len(sheet.queries)
    edges = "nearest" if sheet.down >= rows else "auto"
    extent = (sheet.start, sheet.end, rows - 0.5, -0.5)
    axes.set_facecolor(NOTHING)
    image = {"cmap": COLOURS, "vmin": 0, "vmax": sheet.scale}
    axes.imshow(np.ma.masked_invalid(cells), aspect="auto", extent=extent, interpolation=edges, **image)
    places = range(0, rows, sheet.step)
    style = sheet.lettering.style(size=sheet.type_size, color=INK)
    axes.set_yticks(places, [sheet.queries[at] for at in places], **style)
    axes.set_ylabel(sheet.axis, labelpad=6, **sheet.lettering.style())
    axes.set_xlabel("seconds", labelpad=6, **sheet.lettering.style())
    if sheet.down >= 8 * rows:
        axes.set_yticks(np.arange(0.5, rows - 1), minor=True)
        axes.grid(axis="y", which="minor", color=RULE, linewidth=0.5)
    _set_type(axes, sheet)


def _set_type(axes: Axes, sheet: _Sheet) -> None:
    axes.spines[:].set(color=RULE, linewidth=0.8)
    axes.tick_params(which="minor", length=0)
    axes.tick_params(which="major", length=3, width=0.5, color=RULE, pad=4)
    plain = sheet.lettering.style()
    for label in (*axes.get_xticklabels(), *(axes.get_yticklabels() if axes.get_ylabel() == "kHz" else ())):
        label.set(fontsize=plain["fontsize"], color=plain["color"])


def _sound(map: AttentionMap) -> Sound:
    if isinstance(map.shown, Sound):
        return map.shown
    has = "a picture; draw it with draw_overlay" if map.shown else "only labels; draw it with core.maps.png.draw"
    raise ValueError(f"A spectrogram needs a map whose keys are stretches of a sound; {map.name!r} shows {has}.")
