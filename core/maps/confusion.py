"""A confusion matrix as a picture: how many of each label (rows) were said to be each label (columns)."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int
from matplotlib.figure import Figure

from core.maps.attention_map import visible
from core.maps.page import (
    COLOURS,
    GAP,
    GREY,
    INK,
    LINE,
    MARGIN,
    RULE,
    SMALL,
    Lettering,
    add_axes,
    blank,
    draw_heading,
    heading_width,
    save,
)

CELL, FINE = 110, 34
"""Pixels of a cell: where there is room, and the least; below LEGIBLE a cell has no number."""
SIDE, LEGIBLE = 1600, 60


def draw_confusion(counts: Int[np.ndarray, "L L"], labels: Sequence[str], path: str | os.PathLike[str]) -> Path:
    """Write a PNG. A cell is as dark as its share of its row is large, so that a rare label can be read beside a
    common one; the number in it is a count."""
    return save(lambda: figure(counts, labels), path)


def figure(counts: Int[np.ndarray, "L L"], labels: Sequence[str]) -> Figure:
    """The picture itself. Raises ValueError where the counts are no square of as many labels."""
    if counts.shape != (len(labels), len(labels)) or not len(labels):
        raise ValueError(f"{len(labels)} labels have counts of shape {(len(labels),) * 2}; received {counts.shape}")
    names = [visible(label, 28) for label in labels]
    lettering = Lettering.of([*names, "is said to be 0123456789,"])
    cell = min(CELL, max(FINE, SIDE // len(labels)))
    right = int(np.trace(counts))
    title, note = "Confusion", f"{right:,} of {int(counts.sum()):,} right; rows: what it is, columns: what was said"
    left, top = MARGIN + lettering.length(*names) + GAP, MARGIN + 3 * LINE
    side, foot = cell * len(labels), lettering.length(*names) + MARGIN + GAP
    width = max(left + side + MARGIN, heading_width(lettering, title, [note]) + MARGIN)
    picture = blank(width, top + side + foot)
    axes = add_axes(picture, left, top, side, side)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap=COLOURS, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(names)), names, rotation=90, **lettering.style(color=INK))
    axes.set_yticks(range(len(names)), names, **lettering.style(color=INK))
    axes.tick_params(length=0)
    axes.spines[:].set(color=RULE, linewidth=0.8)
    for row, column in np.argwhere(counts) if cell >= LEGIBLE else ():
        colour = "white" if shares[row, column] > 0.5 else INK if row == column else GREY
        how = lettering.style(size=SMALL, color=colour, ha="center", va="center")
        axes.text(column, row, f"{counts[row, column]:,}", **how)
    draw_heading(picture, lettering, title, [note])
    return picture
