"""All attention maps of a run in one HTML file that opens offline; what it looks like is in `viewer/`."""

import base64
import hashlib
import io
import json
import math
import os
import re
import struct
import wave
import zlib
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from core.files import whole_file
from core.maps.attention_map import AttentionMap, visible
from core.maps.inputs import Picture, Sound

SCRIPTS = ("data", "labels", "heat", "lines", "picture", "sound", "beside", "page")
"""The chapters of the page's script, in the order in which they build on each other."""
POLICY = "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; media-src data:; base-uri 'none'"
"""The page may load nothing, and run nothing but its own script."""
LEVELS = 64
"""Shades within a thousandth."""
PIXELS, PEAKS, LONGEST = 800, 1200, 32
"""The most pixels of a picture's longer side, columns in which a sound's wave is drawn, and characters of a label."""


class Step(NamedTuple):
    """Maps of the same few examples at one validation, and what to call it, such as "epoch 3"."""

    label: str
    examples: Sequence[Sequence[AttentionMap]]


class Table(NamedTuple):
    """Words and numbers to stand above the maps: the head of each column, then rows of as many."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def write_html(
    examples: Sequence[Sequence[AttentionMap]],
    path: str | os.PathLike[str],
    *,
    title: str,
    timeline: Sequence[Step] = (),
    table: Table | None = None,
    together: bool = False,
) -> Path:
    """Write `page` to a file that opens by a double click. Raises ValueError as `page` does."""
    text = page(examples, title=title, timeline=timeline, table=table, together=together)
    with whole_file(path) as file:
        file.write(text.encode())
    return Path(path)


def page(
    examples: Sequence[Sequence[AttentionMap]],
    *,
    title: str,
    timeline: Sequence[Step] = (),
    table: Table | None = None,
    together: bool = False,
) -> str:
    """One HTML page of the maps of each example, a map a module; it needs no network and runs nobody's markup.

    `timeline` has earlier maps of the same examples, oldest first, and `together` opens all modules side by side.
    Raises ValueError where there is no map, or where a row of the table is no row of its head.
    """
    for examples_of, whose in [(examples, "the page"), *((step.examples, f"step {step.label!r}") for step in timeline)]:
        _some(examples_of, whose)
    if table:
        _even(table)
    media: list[dict[str, Any]] = []
    told = {
        "version": 1,
        "title": title,
        "together": together,
        "table": {"head": [*table.head], "rows": [[*row] for row in table.rows]} if table else None,
        "examples": _examples(examples, media),
        "timeline": [{"label": step.label, "examples": _examples(step.examples, media)} for step in timeline],
        "media": media,
    }
    style, script = _style(), _script()
    parts = {
        "policy": POLICY.format(_digest(script), _digest(style)),
        "title": escape(visible(title, 200)),
        "style": style,
        "script": script,
        "data": _embedded(told),
    }
    return re.sub(rf"{{({'|'.join(parts)})}}", lambda place: parts[place[1]], _part("page.html"))


def frame(each: AttentionMap) -> str:
    """The page of one map as an element for a notebook: a frame that reaches neither the notebook nor the network."""
    queries = each.weights.shape[1]
    source = escape(page([[each]], title=each.heading or each.name))
    style = f"width:100%;height:{min(360 + 30 * queries, 820)}px;border:0"
    return f'<iframe srcdoc="{source}" sandbox="allow-scripts" style="{style}" title="attention map"></iframe>'


def _some(examples: Sequence[Sequence[AttentionMap]], whose: str) -> None:
    if not examples:
        raise ValueError(f"There is no map to show: {whose} has no examples. Give a list of maps for each example.")
    for number, maps in enumerate(examples, start=1):
        if not maps:
            raise ValueError(f"There is no map to show: example {number} of {whose} has none. Leave it out.")


def _even(table: Table) -> None:
    for number, row in enumerate(table.rows, start=1):
        if len(row) != len(table.head):
            raise ValueError(f"Row {number} of the table has {len(row)} cells, its head {len(table.head)}: {[*row]}.")


def _examples(examples: Sequence[Sequence[AttentionMap]], media: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [[_told(each, media) for each in maps] for maps in examples]


def _told(each: AttentionMap, media: list[dict[str, Any]]) -> dict[str, Any]:
    """A map as the script reads it; what it shows goes into `media`, once for all maps that show it."""
    heads = [each.weights, each.mean().weights] if len(each.weights) > 1 else [each.weights]
    shown = None if each.shown is None else _medium(each.shown)
    if shown and shown not in media:
        media.append(shown)
    return {
        "name": each.name,
        "heading": each.heading,
        "queries": [_label(label) for label in each.queries],
        "keys": [_label(label) for label in each.keys],
        "special": np.flatnonzero(each.special).tolist(),
        "text": each.text,
        "origin": each.origin,
        "scores": {name: "not defined" if math.isnan(score) else f"{score:.4g}" for name, score in each.scores.items()},
        "planes": [_packed(plane) for plane in np.concatenate(heads)],
        "shown": media.index(shown) if shown else None,
    }


def _label(label: str) -> str | list[str]:
    """A label, or what is seen of it and the whole of it."""
    seen = visible(label, LONGEST)
    return label if seen == label else [seen, label]


def _packed(weights: Float[np.ndarray, "Q K"]) -> str:
    """Base64 of 16 bits a weight: thousandths as `f"{weight:.3f}"` rounds them, and a place of 64 within each.

    `code >> 6` are the thousandths to show, `code / 64 - 0.5` those to colour by, and 32 is a weight of nothing.
    """
    thousandths = weights.astype(np.float64) * 1000  # exact: 24 bits by 10
    rounded = np.rint(thousandths)
    within = np.clip(np.floor((thousandths - rounded + 0.5) * LEVELS), 0, LEVELS - 1)
    codes = rounded * LEVELS + np.where((weights > 0) & (rounded == 0), np.maximum(within, LEVELS // 2 + 1), within)
    return base64.b64encode(codes.astype("<u2").tobytes()).decode()


def _medium(shown: Picture | Sound) -> dict[str, Any]:
    if isinstance(shown, Picture):
        step = math.ceil(max(shown.pixels.shape) / PIXELS)
        return {"kind": "picture", "source": _uri("image/png", _png(shown.pixels[::step, ::step])), "grid": shown.grid}
    return {
        "kind": "sound",
        "source": _uri("audio/wav", _wav(shown)),
        "seconds": len(shown.samples) / shown.rate,
        "edges": [round(float(edge), 4) for edge in shown.edges],
        "peaks": _peaks(shown.samples),
    }


def _png(pixels: np.ndarray) -> bytes:
    """`height width 3` bytes as a PNG, whose rows each begin with a filter's number: none."""
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, true colour
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )


def _wav(sound: Sound) -> bytes:
    """One channel of 16 bits."""
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sound.rate)
        file.writeframes((np.clip(sound.samples, -1, 1) * 32767).astype("<i2").tobytes())
    return written.getvalue()


def _peaks(samples: np.ndarray) -> list[int]:
    """The loudest of each of some stretches of equal length, from 0 to 100."""
    stretches = np.array_split(abs(np.clip(samples, -1, 1)), min(PEAKS, len(samples)))
    return [round(100 * float(each.max())) for each in stretches]


def _uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _embedded(told: dict[str, Any]) -> str:
    """JSON in ASCII that no parser of HTML sees a tag or a comment in."""
    text = json.dumps(told, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _part(name: str) -> str:
    return files("core.maps").joinpath("viewer", name).read_text("utf-8")


@cache
def _style() -> str:
    return f"\n{_part('style.css')}"


@cache
def _script() -> str:
    return "\n" + "\n".join(_part(f"{name}.js") for name in SCRIPTS)
