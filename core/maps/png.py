"""Pictures of attention maps: pure functions of an AttentionMap, drawn without a screen and without pyplot."""

import math
import os
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont

from core.maps.attention_map import AttentionMap, visible
from core.maps.fonts import FONT, shown_by
from core.maps.page import (
    COLOURS,
    DPI,
    GAP,
    GREY,
    INK,
    LINE,
    MARGIN,
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

SLOPE = 55
"""Degrees by which labels rise that are wider than a column."""
ITALICS = FontProperties(family=FONT, style="italic")
WIDE, HIGH, CELL, FINE = 2000, 1800, 58, 6
"""The most pixels that all cells take, across and down, and that one takes; below FINE there are no rules and dots."""


def draw(map: AttentionMap, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write a PNG of one map, a panel a head; `map.mean()` gives one panel for all heads."""
    return save(lambda: figure([map], title), path)


def draw_layers(maps: Sequence[AttentionMap], path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write a PNG of several modules for one example: a row a module, a column a head. Raises where labels differ."""
    return save(lambda: figure(maps, title), path)


def figure(maps: Sequence[AttentionMap], title: str | None = None) -> Figure:
    """The picture itself: rows are queries, columns keys, in the model's order, and one scale for all panels.

    Where labels are too many to read, a line under the title says which are shown. Warns once where no installed font
    has a label's characters.
    """
    sheet = _Sheet(maps, title)
    picture = blank(sheet.width, sheet.height)
    for panel in sheet.panels:
        _draw_panel(picture, sheet, panel)
    draw_heading(picture, sheet.lettering, sheet.title, sheet.notes)
    draw_legend(picture, sheet.lettering, sheet.left, sheet.legend)
    return picture


class _Sheet:
    """What goes where, in pixels from the top left corner, before anything is drawn."""

    def __init__(self, maps: Sequence[AttentionMap], title: str | None) -> None:
        first = _alike(maps)
        self.modules = [visible(each.name, 60) for each in maps] if len(maps) > 1 else []
        self.panels, self.special = _panels(maps), first.special
        self.rows, self.columns = 1 + self.panels[-1][0], 1 + max(column for _, column, *_ in self.panels)
        heads = f" × {self.columns} heads" if self.columns > 1 else ""
        name = f"{self.rows} layers{heads}" if self.modules else first.name
        self.title = visible(title or name, 90)
        self.queries, self.keys = [visible(each) for each in first.queries], [visible(each) for each in first.keys]
        self.names = visible(first.origin.get("rows", "target")), visible(first.origin.get("columns", "source"))
        self.notes = [visible(first.name, 90)] if title and not self.modules else []
        texts = [self.title, *self.notes, *self.modules, *self.names, *self.queries, *self.keys]
        self.lettering, self.italics = Lettering.of(texts), shown_by(findfont(ITALICS), 0, set("".join(texts)))
        largest = max(float(each.weights.max()) for each in maps)
        self.scale = colour_scale(largest)
        self._size_cells()
        self._tell(blank=any(not each.weights.any(axis=-1).all() for each in maps))
        self._place()

    def _size_cells(self) -> None:
        """Square cells as large as the page allows, stretched up to four times only where labels would not fit."""
        rooms = WIDE / self.columns / len(self.keys), HIGH / self.rows / len(self.queries)
        self.cell = min(CELL, *rooms)
        stretched = [max(self.cell, min(room, 4 * self.cell, 0.4 * CELL)) for room in rooms]
        # Whole pixels, or cells would come out unlike; a cell below one pixel stays a fraction.
        self.across, self.down = (float(math.floor(size)) if size >= 1 else size for size in stretched)
        self.type_size = min(9.5, max(6.0, 0.6 * min(self.across, self.down) * 72 / DPI))
        self.line = 1.25 * self.type_size * DPI / 72
        self.key_length = self.lettering.length(*self.keys, size=self.type_size)
        self.slope = math.radians(SLOPE) if self.key_length > 0.9 * self.across else 0.0
        columns = self.line / self.across / math.sin(self.slope) if self.slope else 1
        self.steps = math.ceil(self.line / self.down), math.ceil(columns)

    def _tell(self, *, blank: bool) -> None:
        """What a reader would not see from the picture alone, under the title and in the legend."""
        labels = ["label"] * 2 if self.steps[0] == self.steps[1] else [f"{name} label" for name in self.names]
        pairs = zip(self.steps, labels, strict=True)
        self.notes += dict.fromkeys(thinned(step, label) for step, label in pairs if step > 1)
        self.notes += ["neighbouring cells averaged to fit"] * (min(self.across, self.down) < 1)
        self.notes += [f"colours end at {self.scale:g}"] * (self.scale < 1)
        dots, grey = "     ●  largest in its row" * (self.cell >= FINE), "     grey: nothing attended" * blank
        self.legend = f"{self.scale:g}   attention weight{dots}{grey}"

    def _place(self) -> None:
        key_height = self.key_length * math.sin(self.slope) + self.line * math.cos(self.slope)
        overhang = max(0, self.key_length * math.cos(self.slope) - self.across / 2) if self.slope else 0
        query_length = self.lettering.length(*self.queries, size=self.type_size)
        self.left = 1.0 * round(MARGIN + LINE * bool(self.modules) + LINE + query_length + GAP)
        self.top = 1.0 * round(MARGIN + LINE * (3.6 if self.notes else 2.4) + key_height + GAP)
        self.panel = self.across * len(self.keys), self.down * len(self.queries)
        module = self.lettering.length(*self.modules) if self.modules else 0  # stands upright beside its row of panels
        self.top = max(self.top, MARGIN + 3.6 * LINE + (module - self.panel[1]) / 2)
        down = max(self.panel[1] + LINE * (len(self.panels) > 1), module)
        self.pitch = self.panel[0] + GAP, down + GAP
        right = self.left + self.columns * self.pitch[0] - GAP + overhang
        legend = self.left + RAMP + LINE + self.lettering.length(self.legend)
        heading = heading_width(self.lettering, self.title, self.notes)
        self.width = math.ceil(max(right, legend, heading) + MARGIN)
        self.height = math.ceil(self.top + self.rows * self.pitch[1] + LINE + MARGIN)


def _draw_panel(picture: Figure, sheet: _Sheet, panel: tuple[int, int, str, np.ndarray]) -> None:
    row, column, caption, weights = panel
    x, y = sheet.left + column * sheet.pitch[0], sheet.top + row * sheet.pitch[1]
    axes = add_axes(picture, x, y, *sheet.panel)
    cells = np.ma.masked_where(np.broadcast_to(~weights.any(axis=-1, keepdims=True), weights.shape), weights)
    edges = "nearest" if min(sheet.across, sheet.down) >= 1 else "auto"
    axes.imshow(cells, aspect="auto", interpolation=edges, cmap=COLOURS, vmin=0, vmax=sheet.scale)
    _label_rows(axes, sheet, show=column == 0)
    _label_columns(axes, sheet, show=row == 0)
    if sheet.cell >= FINE:
        axes.set_yticks(np.arange(0.5, len(sheet.queries) - 1), minor=True)
        axes.set_xticks(np.arange(0.5, len(sheet.keys) - 1), minor=True)
        axes.grid(which="minor", color=RULE, linewidth=0.5)
        _mark_largest(axes, weights, sheet)
    axes.spines[:].set(color=RULE, linewidth=0.8)
    axes.tick_params(which="both", length=0, pad=4)
    (across, down), middle, write = sheet.panel, {"ha": "center", "va": "center"}, sheet.lettering.write
    if len(sheet.panels) > 1:
        write(picture, x + across / 2, y + down + 0.75 * LINE, caption, **middle)
    if sheet.modules and column == 0:
        write(picture, MARGIN + LINE / 2, y + down / 2, sheet.modules[row], rotation=90, color=INK, **middle)


def _mark_largest(axes: Axes, weights: Float[np.ndarray, "Q K"], sheet: _Sheet) -> None:
    """A dot on the largest weight of each row that has one, light on dark cells and dark on light ones."""
    largest = weights.max(axis=-1, keepdims=True)
    alone = (largest[:, 0] > 0) & ((weights > largest - 1e-6).sum(axis=-1) == 1)
    rows, keys = np.flatnonzero(alone), weights.argmax(axis=-1)[alone]
    colours = ["white" if weight > 0.4 * sheet.scale else INK for weight in weights[rows, keys]]
    axes.scatter(keys, rows, s=(0.17 * sheet.cell * 72 / DPI) ** 2, c=colours, linewidths=0)


def _label_rows(axes: Axes, sheet: _Sheet, show: bool) -> None:
    places = range(0, len(sheet.queries), sheet.steps[0]) if show else range(0)
    style = sheet.lettering.style(size=sheet.type_size, color=INK)
    axes.set_yticks(places, [sheet.queries[at] for at in places], **style)
    axes.set_ylabel(sheet.names[0] * show, labelpad=6, **sheet.lettering.style())


def _label_columns(axes: Axes, sheet: _Sheet, show: bool) -> None:
    places = range(0, len(sheet.keys), sheet.steps[1]) if show else range(0)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xticks(places, [sheet.keys[at] for at in places], **sheet.lettering.style(size=sheet.type_size, color=INK))
    axes.set_xlabel(sheet.names[1] * show, labelpad=6, **sheet.lettering.style())
    for at, label in zip(places, axes.get_xticklabels(), strict=True):
        wide = any(unicodedata.east_asian_width(each) in "WF" for each in sheet.keys[at])  # reads badly on a slope
        if sheet.slope and not (wide and sheet.lettering.length(sheet.keys[at], size=sheet.type_size) < sheet.across):
            label.set(rotation=SLOPE, ha="left", va="center", rotation_mode="anchor")
        if sheet.special[at]:
            label.set(color=GREY, style="italic" if sheet.italics.issuperset(sheet.keys[at]) else "normal")


def _alike(maps: Sequence[AttentionMap]) -> AttentionMap:
    """The first map, whose labels are those of all."""
    if not maps:
        raise ValueError("There is no map to draw; give at least one.")
    for each in maps[1:]:
        if (each.queries, each.keys) != (maps[0].queries, maps[0].keys):
            names = " and ".join(f"{map.name!r} (shape {map.weights.shape})" for map in (maps[0], each))
            raise ValueError(f"Maps in one picture share their labels; those of {names} differ. Draw them apart.")
    return maps[0]


def _panels(maps: Sequence[AttentionMap]) -> list[tuple[int, int, str, np.ndarray]]:
    """Row, column, caption and weights: a row a module, or the heads of a single one in rows, to be near square."""
    heads, queries, keys = maps[0].weights.shape
    # A little wider than high, and few places empty.
    ratio = keys / heads / queries / 1.4
    shape = {each: abs(math.log(each**2 * ratio)) + (-heads) % each for each in range(1, heads + 1)}
    columns = min(shape, key=shape.__getitem__) if len(maps) == 1 else max(len(each.weights) for each in maps)
    return [
        (row + head // columns, head % columns, f"head {head}" if len(each.weights) > 1 else "", weights)
        for row, each in enumerate(maps)
        for head, weights in enumerate(each.weights)
    ]
