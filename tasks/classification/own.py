"""Texts with labels from a person's own files, and texts set apart where there is no split for validation or test."""

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.public import DataError
from core.text import lines_of
from tasks.classification.examples import Labelled
from tasks.classification.words import Told

TABLES = (".tsv", ".csv", ".jsonl")
SPLITS = ("train", "validation", "test")
PARTS = 2
"""Words that a text has at least to count as a part of a longer one."""


def read_texts(path: str, text: str, label: str) -> dict[str, list[Labelled]]:
    """The texts of a tsv, csv or jsonl, by the ending of its name, with their labels; of the splits that its column
    `split` names, or all as train.

    The columns, or the keys of an object, are named `text` and `label` say. A table without these names in its first
    line has two columns, the text first.

    Raises:
        DataError: naming file, line, what came and what was expected.
    """
    file = Path(path).expanduser()
    if file.suffix.lower() not in TABLES:
        raise DataError(f"{path} is none of {', '.join(TABLES)}: texts with labels come in one of these")
    try:
        lines = lines_of(file.read_bytes(), path)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise DataError(str(error)) from error
    rows = (objects if file.suffix.lower() == ".jsonl" else columns)(lines, path, text, label)
    found: dict[str, list[Labelled]] = {}
    for number, row in rows:
        split = str(row.get("split") or "train").strip()
        if split not in SPLITS:
            raise DataError(f"{path}, line {number}: the split is one of {', '.join(SPLITS)}; found {split!r}")
        found.setdefault(split, []).append(Labelled(row[text], row[label].strip()))
    if "train" not in found:
        raise DataError(f"{path} has no text to train on; its splits are: {', '.join(found) or 'none, it is empty'}")
    return found


def columns(lines: Sequence[str], path: str, text: str, label: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The rows with the number of the line each ends on; a tsv has no quotes, so a tab always parts two columns."""
    rows = table(lines, path)
    header = [cell.strip() for cell in rows[0][1]] if rows else []
    named = {text, label} <= set(header)
    names = header if named else [text, label]
    for number, row in rows[named:]:
        if not any(row):
            yield number, {text: "", label: ""}
        elif len(row) != len(names):
            raise DataError(
                f"{path}, line {number} has {len(row)} columns, wanted {len(names)}"
                + ("" if named else f": {text} and {label}; with more columns, name them in the first line")
            )
        else:
            yield number, dict(zip(names, row, strict=True))


def table(lines: Sequence[str], path: str) -> list[tuple[int, list[str]]]:
    if path.lower().endswith(".tsv"):
        return [(number, line.split("\t")) for number, line in enumerate(lines, start=1)]
    reader = csv.reader(io.StringIO("\n".join(lines), newline=""), strict=True)
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from error


def objects(lines: Sequence[str], path: str, text: str, label: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise DataError(f"{path}, line {number} is no JSON: {error}") from error
        fits = isinstance(fields, dict) and isinstance(fields.get(text), str)
        if not fits or not isinstance(fields.get(label), str | int):
            found = sorted(fields) if isinstance(fields, dict) else type(fields).__name__
            raise DataError(
                f"{path}, line {number}: wanted a text under {text} and a name under {label}; found {found}"
            )
        yield number, {text: fields[text], label: str(fields[label]), "split": fields.get("split")}


def with_held_out(
    found: Mapping[str, list[Labelled]], held_out: int, *, seed: int, counts: Counter[str], whole: bool = False
) -> dict[str, list[Labelled]]:
    """The splits, and for validation and test, where they are missing, texts drawn from train; counted.

    A text that occurs twice is in one split only, and never more than a tenth of train is set apart for each. With
    `whole`, for sets whose texts are also there in parts, only texts that are no part of another are set apart, and
    train loses their parts: else a model would be chosen by how well it remembers.
    """
    missing = [split for split in ("validation", "test") if split not in found]
    train = found["train"]
    size = min(held_out, len(train) // 10)
    if missing and size < 1:
        raise DataError(
            f"there are {len(train)} texts, too few to set some apart for {' and '.join(missing)}: give at least 10, "
            "or a column split, and a data.held_out of 1 or more"
        )
    texts = {each: Told.of(each).lowered for each in dict.fromkeys(each.text for each in train)} if missing else {}
    kinds = list(dict.fromkeys(texts.values()))
    kinds = without_parts(kinds) if whole else kinds
    random.Random(seed).shuffle(kinds)
    apart = {kind: split for n, split in enumerate(missing) for kind in kinds[n * size : (n + 1) * size]}
    taken = {split: [each for each in train if apart.get(texts[each.text]) == split] for split in missing}
    rest = [each for each in train if texts.get(each.text) not in apart]
    counts.update({f"{split}.set_apart_from_train": len(each) for split, each in taken.items()})
    parts = {part for kind in apart for part in parts_of(kind)} if whole else set()
    kept = [each for each in rest if texts.get(each.text) not in parts]
    counts["train.left_out_as_parts"] += len(rest) - len(kept)
    return {"train": kept, **taken, **{split: each for split, each in found.items() if split != "train"}}


def without_parts(texts: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The texts that are no stretch of another one, longest first."""
    kept: list[tuple[str, ...]] = []
    seen: set[int] = set()
    for text in sorted(texts, key=lambda each: (-len(each), each)):
        if hash(text) not in seen and len(text) >= PARTS:
            kept.append(text)
            seen.update(map(hash, parts_of(text)))
    return kept


def parts_of(text: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """All stretches of at least `PARTS` words."""
    for start in range(len(text)):
        for end in range(start + PARTS, len(text) + 1):
            yield text[start:end]
