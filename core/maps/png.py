"""Pictures of attention maps: pure functions of an AttentionMap, drawn without a screen and without pyplot."""

import math
import os
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontEntry, FontProperties, findfont, findSystemFonts, fontManager
from matplotlib.ft2font import FaceFlags, FT2Font

from core.files import whole_file
from core.maps.attention_map import AttentionMap, visible

INK, GREY, RULE, NOTHING = "#1c223c", "#747b8f", "#e4e8f0", "#efedea"
SHADES = ["#ffffff", "#d2eafd", "#a5d3f9", "#75b8f1", "#4298df", "#1973bc", "#1a518f", "#203763", INK]
COLOURS = LinearSegmentedColormap.from_list("attention", SHADES).with_extremes(bad=NOTHING)
"""White to ink in equal steps of CIELAB distance, so that equal differences of weight look equal."""

FONT, TITLE, SMALL, SLOPE = "DejaVu Sans", 10.5, 7.5, 55
"""The font that comes with matplotlib; type in points; degrees by which labels rise that are wider than a column."""
ITALICS = FontProperties(family=FONT, style="italic")
DPI, WIDE, HIGH, CELL, FINE = 200, 2000, 1800, 58, 6
"""The most pixels that all cells take, across and down, and that one takes; below FINE there are no rules and dots."""
MARGIN, GAP, LINE, RAMP = 36.0, 26.0, 34.0, 190.0
"""Pixels: round the picture, between panels, of a line of small type, and of the legend's colours."""


def draw(map: AttentionMap, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write a PNG of one map, a panel a head; `map.mean()` gives one panel for all heads."""
    return _write([map], path, title)


def draw_layers(maps: Sequence[AttentionMap], path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write a PNG of several modules for one example: a row a module, a column a head. Raises where labels differ."""
    return _write(maps, path, title)


def figure(maps: Sequence[AttentionMap], title: str | None = None) -> Figure:
    """The picture itself: rows are queries, columns keys, in the model's order, and one scale for all panels.

    Where labels are too many to read, a line under the title says which are shown. Warns once where no installed font
    has a label's characters.
    """
    sheet = _Sheet(maps, title)
    picture = FigureCanvasAgg(Figure((sheet.width / DPI, sheet.height / DPI), dpi=DPI, facecolor="white")).figure
    for panel in sheet.panels:
        _draw_panel(picture, sheet, panel)
    sheet.write(picture, MARGIN, MARGIN, sheet.title, size=TITLE, color=INK, weight="bold", va="top")
    sheet.write(picture, MARGIN, MARGIN + 1.4 * LINE, " · ".join(sheet.notes), va="top")
    _draw_legend(picture, sheet)
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
        self.families, self.italics = _families("".join(texts)), _shown_by(findfont(ITALICS), 0, set("".join(texts)))
        largest = max(float(each.weights.max()) for each in maps)
        self.scale = min((each for each in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if each > largest - 1e-6), default=1.0)
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
        self.key_length = self.length(*self.keys, size=self.type_size)
        self.slope = math.radians(SLOPE) if self.key_length > 0.9 * self.across else 0.0
        columns = self.line / self.across / math.sin(self.slope) if self.slope else 1
        self.steps = math.ceil(self.line / self.down), math.ceil(columns)

    def _tell(self, *, blank: bool) -> None:
        """What a reader would not see from the picture alone, under the title and in the legend."""
        labels = ["label"] * 2 if self.steps[0] == self.steps[1] else [f"{name} label" for name in self.names]
        thinned = ((step, label) for step, label in zip(self.steps, labels, strict=True) if step > 1)
        self.notes += dict.fromkeys(f"every {_ordinal(step)} {label} shown" for step, label in thinned)
        self.notes += ["neighbouring cells averaged to fit"] * (min(self.across, self.down) < 1)
        self.notes += [f"colours end at {self.scale:g}"] * (self.scale < 1)
        dots, grey = "     ●  largest in its row" * (self.cell >= FINE), "     grey: nothing attended" * blank
        self.legend = f"{self.scale:g}   attention weight{dots}{grey}"

    def _place(self) -> None:
        key_height = self.key_length * math.sin(self.slope) + self.line * math.cos(self.slope)
        overhang = max(0, self.key_length * math.cos(self.slope) - self.across / 2) if self.slope else 0
        query_length = self.length(*self.queries, size=self.type_size)
        self.left = 1.0 * round(MARGIN + LINE * bool(self.modules) + LINE + query_length + GAP)
        self.top = 1.0 * round(MARGIN + LINE * (3.6 if self.notes else 2.4) + key_height + GAP)
        self.panel = self.across * len(self.keys), self.down * len(self.queries)
        self.pitch = self.panel[0] + GAP, self.panel[1] + GAP + LINE * (len(self.panels) > 1)
        right = self.left + self.columns * self.pitch[0] - GAP + overhang
        legend = self.left + RAMP + LINE + self.length(self.legend)
        heading = MARGIN + max(self.length(self.title, size=TITLE, weight="bold"), self.length(" · ".join(self.notes)))
        self.width = math.ceil(max(right, legend, heading) + MARGIN)
        self.height = math.ceil(self.top + self.rows * self.pitch[1] + LINE + MARGIN)

    def box(self, x: float, y: float, width: float, height: float) -> tuple[float, float, float, float]:
        """A box as matplotlib wants it: in fractions from the bottom left corner."""
        return x / self.width, 1 - (y + height) / self.height, width / self.width, height / self.height

    def type(self, *, size: float = SMALL, color: str = GREY, **more: Any) -> dict[str, Any]:
        """How all text is set. Without `parse_math=False` a pair of dollar signs would make a formula."""
        return {"fontsize": size, "color": color, "family": self.families, "parse_math": False, **more}

    def write(self, picture: Figure, x: float, y: float, text: str, **how: Any) -> None:
        picture.text(x / self.width, 1 - y / self.height, text, **self.type(**how))

    def length(self, *texts: str, **how: Any) -> float:
        """Pixels that the longest text takes once it is set; of many, only those of the most bytes are measured."""
        canvas = FigureCanvasAgg(Figure((1, 1), dpi=DPI))
        lines = [
            canvas.figure.text(0, 0, each, **self.type(**how))
            for each in sorted(set(texts), key=lambda text: len(text.encode()))[-12:]
        ]
        return max(line.get_window_extent(canvas.get_renderer()).width for line in lines)


def _draw_panel(picture: Figure, sheet: _Sheet, panel: tuple[int, int, str, np.ndarray]) -> None:
    row, column, caption, weights = panel
    x, y = sheet.left + column * sheet.pitch[0], sheet.top + row * sheet.pitch[1]
    axes = picture.add_axes(sheet.box(x, y, *sheet.panel))
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
    (across, down), middle = sheet.panel, {"ha": "center", "va": "center"}
    if len(sheet.panels) > 1:
        sheet.write(picture, x + across / 2, y + down + 0.75 * LINE, caption, **middle)
    if sheet.modules and column == 0:
        sheet.write(picture, MARGIN + LINE / 2, y + down / 2, sheet.modules[row], rotation=90, color=INK, **middle)


def _mark_largest(axes: Axes, weights: Float[np.ndarray, "Q K"], sheet: _Sheet) -> None:
    """A dot on the largest weight of each row that has one, light on dark cells and dark on light ones."""
    largest = weights.max(axis=-1, keepdims=True)
    alone = (largest[:, 0] > 0) & ((weights > largest - 1e-6).sum(axis=-1) == 1)
    rows, keys = np.flatnonzero(alone), weights.argmax(axis=-1)[alone]
    colours = ["white" if weight > 0.4 * sheet.scale else INK for weight in weights[rows, keys]]
    axes.scatter(keys, rows, s=(0.17 * sheet.cell * 72 / DPI) ** 2, c=colours, linewidths=0)


def _label_rows(axes: Axes, sheet: _Sheet, show: bool) -> None:
    places = range(0, len(sheet.queries), sheet.steps[0]) if show else range(0)
    axes.set_yticks(places, [sheet.queries[at] for at in places], **sheet.type(size=sheet.type_size, color=INK))
    axes.set_ylabel(sheet.names[0] * show, labelpad=6, **sheet.type())


def _label_columns(axes: Axes, sheet: _Sheet, show: bool) -> None:
    places = range(0, len(sheet.keys), sheet.steps[1]) if show else range(0)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xticks(places, [sheet.keys[at] for at in places], **sheet.type(size=sheet.type_size, color=INK))
    axes.set_xlabel(sheet.names[1] * show, labelpad=6, **sheet.type())
    for at, label in zip(places, axes.get_xticklabels(), strict=True):
        wide = any(unicodedata.east_asian_width(each) in "WF" for each in sheet.keys[at])  # reads badly on a slope
        if sheet.slope and not (wide and sheet.length(sheet.keys[at], size=sheet.type_size) < sheet.across):
            label.set(rotation=SLOPE, ha="left", va="center", rotation_mode="anchor")
        if sheet.special[at]:
            label.set(color=GREY, style="italic" if sheet.italics.issuperset(sheet.keys[at]) else "normal")


def _draw_legend(picture: Figure, sheet: _Sheet) -> None:
    y = sheet.height - MARGIN - LINE / 2
    ramp = picture.add_axes(sheet.box(sheet.left + 20, y - 7, RAMP, 14.0))
    ramp.imshow(np.linspace(0, 1, 256)[None], cmap=COLOURS, aspect="auto")
    ramp.set(xticks=[], yticks=[])
    ramp.spines[:].set(color=RULE, linewidth=0.8)
    sheet.write(picture, sheet.left, y, "0", va="center")
    sheet.write(picture, sheet.left + RAMP + LINE, y, sheet.legend, va="center")


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


def _ordinal(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _families(text: str) -> list[str]:
    """Font families that show every character of a text, as far as installed fonts can."""
    families, missing = [FONT], {each for each in text if unicodedata.category(each)[0] not in "CZ"}
    missing -= _shown_by(findfont(FONT), 0, missing)
    fonts = _installed(text) if missing else []
    enough = next((font for font in fonts if _shown_by(font.fname, font.index, missing) == missing), None)
    best = [enough] if enough else sorted(fonts, key=lambda each: -len(_shown_by(each.fname, each.index, missing)))
    for font in best:
        if shown := _shown_by(font.fname, font.index, missing):
            families.append(font.name)
            missing -= shown
    if missing:
        _warn_of_boxes(_scripts(missing))
    return families


def _installed(text: str) -> list[FontEntry]:
    """Upright fonts, best first for a text's language; also those installed since matplotlib made its list."""
    for path in sorted(set(findSystemFonts()) - {each.fname for each in fontManager.ttflist}):
        with suppress(RuntimeError, OSError):
            fontManager.addfont(path)
    scripts = _scripts(text)
    region = "KR" if "HANGUL" in scripts else "JP" if scripts & {"HIRAGANA", "KATAKANA"} else "SC"
    # The last resort font claims every character, and draws a box.
    real = [each for each in fontManager.ttflist if each.style == "normal" and not each.name.startswith("Last Resort")]
    return sorted(real, key=lambda font: (font.name not in ("Noto Sans", f"Noto Sans CJK {region}"), font.name))


def _shown_by(path: str, face: int, characters: set[str]) -> set[str]:
    """Those of the characters that a font has."""
    codes = np.array([ord(each) for each in characters], dtype=np.uint32)
    return {chr(code) for code in np.intersect1d(codes, _charmap(path, face))}


@cache
def _charmap(path: str, face: int) -> np.ndarray:
    """Codes of all characters of a font; none where it cannot be read, or not be scaled."""
    with suppress(RuntimeError, OSError):
        font = FT2Font(path, face_index=face)
        return np.array(list(font.get_charmap()) * (FaceFlags.SCALABLE in font.face_flags), dtype=np.uint32)
    return np.array([], dtype=np.uint32)


def _scripts(text: Iterable[str]) -> frozenset[str]:
    """First words of the characters' names, which for letters are their scripts."""
    return frozenset(unicodedata.name(each, "UNNAMED").replace("-", " ").split()[0] for each in text)


@cache
def _warn_of_boxes(scripts: frozenset[str]) -> None:
    """Once for each set of scripts, not once for each picture."""
    warnings.warn(
        f"No installed font has the {', '.join(sorted(scripts))} characters of these labels; the picture shows boxes "
        "(saved labels are complete). Install a font and draw again: Noto Sans CJK for Chinese, Japanese and Korean "
        "(Debian: apt install fonts-noto-cjk); for others see https://fonts.google.com/noto.",
        stacklevel=2,
    )


def _write(maps: Sequence[AttentionMap], path: str | os.PathLike[str], title: str | None) -> Path:
    with warnings.catch_warnings(), whole_file(path) as file:
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # `_warn_of_boxes` says it once
        figure(maps, title).savefig(file, format="png", dpi=DPI)
    return Path(path)
