"""An attention map: the weights of one module for one example, with the labels of both axes."""

import json
import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from core.files import whole_file
from core.maps.inputs import Picture, Sound, arrays, from_arrays

TOLERANCE = 0.01
"""How far a row's sum may be from 1: a few steps of bfloat16."""


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """What each head of one module looked at: rows are queries (target), columns keys (source).

    Each row sums to 1, or to exactly 0 where nothing may be attended. Padding is no key: cut it before. A `Q K` array
    is taken as one head. `special` marks the keys that are no text of the user's, such as an end mark. `text` is the
    example (source, prediction, reference), `origin` says where the map came from (task, run, step); `origin["rows"]`
    and `origin["columns"]` name the axes in pictures. `shown` is the picture or the sound that the keys are places of,
    and `scores` are numbers to show beside the map.

    Raises ValueError where labels and axes differ in number or weights are no distribution, TypeError where labels
    are no strings.
    """

    weights: Float[np.ndarray, "*H Q K"]
    _: KW_ONLY
    queries: Sequence[str]
    keys: Sequence[str]
    name: str = "attention"
    special: Sequence[bool] = ()
    text: dict[str, str] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    shown: Picture | Sound | None = None

    def __post_init__(self) -> None:
        fields = {
            "weights": _distribution(self.weights),
            "queries": _labels(self.queries, "queries"),
            "keys": _labels(self.keys, "keys"),
            "special": tuple(map(bool, self.special)) or (False,) * len(self.keys),
            "text": dict(self.text),
            "origin": dict(self.origin),
            "scores": {name: float(score) for name, score in self.scores.items()},
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        _, queries, keys = self.weights.shape
        _same_number(len(self.queries), "query labels", queries, "rows (queries)", self.weights)
        _same_number(len(self.keys), "key labels", keys, "columns (keys)", self.weights)
        _same_number(len(self.special), "marks in `special`", keys, "columns (keys)", self.weights)
        if self.shown is not None:
            _same_number(
                self.shown.keys,
                f"places of the {type(self.shown).__name__.lower()}",
                keys,
                "columns (keys)",
                self.weights,
            )

    @property
    def heading(self) -> str:
        """A line that says what is shown: the source and what was made of it, each shortened."""
        return " → ".join(visible(self.text[part], 26) for part in ("source", "prediction") if self.text.get(part))

    def mean(self) -> "AttentionMap":
        """One head that stands for all, and says so in its name; what a single head did may be quite different.

        A row is averaged over the heads that attend to anything there, so that it still sums to 1.
        """
        heads = len(self.weights)
        if heads == 1:
            return self
        attending = self.weights.any(axis=-1, keepdims=True).sum(axis=0, keepdims=True)
        mean = self.weights.sum(axis=0, keepdims=True) / np.maximum(attending, 1)
        return replace(self, weights=mean, name=f"{self.name} (mean of {heads} heads)")

    def most_attended(self, *, special: bool = False) -> list[int]:
        """For each query the key with the most weight in the mean of the heads; of equal keys, the first.

        Special keys count only if asked for. A query with no weight on the keys that count gets -1.
        """
        mean = self.mean().weights[0]
        counted = mean if special else np.where(self.special, 0, mean)
        return [int(row.argmax()) if row.any() else -1 for row in counted]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an npz: `weights`, the arrays of what is `shown`, and `labels`, all else as UTF-8 JSON in bytes.

        Bytes, because numpy's own arrays of text drop NUL characters at the end of a label.
        """
        words = {
            name: getattr(self, name) for name in ("queries", "keys", "name", "special", "text", "origin", "scores")
        }
        labels = np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)
        with whole_file(path) as file:
            np.savez_compressed(file, weights=self.weights, labels=labels, **arrays(self.shown))
        return Path(path)

    def html(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Write a page to look at this map in a browser: one file, which needs no network."""
        from core.maps.html import write_html  # a training run never loads the viewer

        return write_html([[self]], path, title=title or self.heading or self.name)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from core.maps.html import frame

        return frame(self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "AttentionMap":
        """Read what `save` wrote. Nothing in the file is run. Raises ValueError for a file that is no such map."""
        try:
            with open(path, "rb") as file:
                kept = np.load(file, allow_pickle=False)
                return cls(kept["weights"], **json.loads(kept["labels"].tobytes()), shown=from_arrays(kept))
        except OSError:
            raise
        except Exception as error:  # a damaged zip, array or JSON fails in a dozen ways
            raise ValueError(
                f"{os.fspath(path)} is no attention map, or is damaged ({type(error).__name__}: {error}). "
                "Expected an npz that AttentionMap.save wrote; write it again."
            ) from error


def save_all(maps_by_example: Sequence[Sequence[AttentionMap]], folder: str | os.PathLike[str]) -> list[dict]:
    """Write every map of every example, then `maps.json`, which links each file to its example's text.

    Returns what `maps.json` lists: a dict a file, with its example's number (from 1), name, shape, text and origin.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "maps.json"
    manifest.unlink(missing_ok=True)  # it would list files that are about to be replaced
    written: list[dict] = []
    taken: set[str] = set()
    for number, maps in enumerate(maps_by_example, start=1):
        for each in maps:
            name = _file_name(number, each.name, taken)
            each.save(folder / name)
            written.append({"file": name, "example": number, **_summary(each)})
    with whole_file(manifest) as file:
        file.write(json.dumps({"version": 1, "maps": written}, indent=1).encode())
    return written


def visible(text: str, longest: int = 24) -> str:
    """A label on one line for display, with a mark for what cannot be seen, cut off with an ellipsis."""
    line = text.translate(str.maketrans({"\t": "⇥", **dict.fromkeys("\r\n\u2028\u2029", "⏎")}))
    line = "".join("\ufffd" if unicodedata.category(each) in ("Cc", "Cs") else each for each in line)
    if all(unicodedata.category(each)[0] in "CZ" for each in line):
        return "␣" * min(len(line), longest) or "·"
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _summary(each: AttentionMap) -> dict:
    heads, queries, keys = each.weights.shape
    return {
        "name": each.name,
        "heads": heads,
        "queries": queries,
        "keys": keys,
        "text": each.text,
        "origin": each.origin,
    }


def _file_name(number: int, name: str, taken: set[str]) -> str:
    """Lower case letters, digits and hyphens only, so that it is safe and unique on every file system."""
    stem = f"{number:03d}-" + (re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:80] or "map")
    file, copy = f"{stem}.npz", 1
    while file in taken:
        copy += 1
        file = f"{stem}-{copy}.npz"
    taken.add(file)
    return file


def _distribution(weights: ArrayLike) -> Float[np.ndarray, "H Q K"]:
    """A read-only float32 copy with a head axis, whose rows sum to 1 or 0."""
    array = np.array(weights, dtype=np.float32)
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or 0 in array.shape:
        raise ValueError(
            f"Attention weights have the axes (heads, queries, keys) or (queries, keys), each at least 1; "
            f"received shape {np.shape(weights)}. Take one example of a batch: weights[0]."
        )
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(
            f"Attention weights are finite and not negative; received values from {array.min()} to {array.max()}. "
            "Give the weights after the softmax, not the scores."
        )
    sums = array.sum(axis=-1, dtype=np.float64)
    wrong = np.argwhere((abs(sums - 1) > TOLERANCE) & (sums != 0))
    if len(wrong):
        head, row = wrong[0]
        raise ValueError(
            f"Each row of attention weights sums to 1, or to 0 where nothing may be attended; row {row} of head {head} "
            f"sums to {sums[head, row]:.4g}. Divide the rows by their sums, or keep the keys that were cut off."
        )
    array.flags.writeable = False
    return array


def _labels(labels: Sequence[str], axis: str) -> tuple[str, ...]:
    if isinstance(labels, str):
        raise TypeError(f"`{axis}` takes one label for each position; received one string, {labels!r}. Give a list.")
    for place, label in enumerate(labels):
        if not isinstance(label, str):
            raise TypeError(f"Labels are strings; `{axis}`[{place}] is {label!r}, a {type(label).__name__}.")
    return tuple(labels)


def _same_number(count: int, what: str, size: int, axis: str, weights: np.ndarray) -> None:
    if count != size:
        raise ValueError(
            f"{count} {what}, but the weights have {size} {axis}; their shape is {weights.shape}. "
            "Give one for each; padding is cut from weights and labels alike."
        )
