"""Sentence pairs from a person's own files, and pairs set apart where there is no file for validation or test."""

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from core.public import DataError
from core.text import lines_of, read_parallel

Pairs = list[tuple[str, str]]
P = TypeVar("P")
TABLES = (".tsv", ".csv", ".jsonl")


def read_pairs(path: str, target_path: str | None, source: str, target: str) -> Pairs:
    """The pairs of two line-aligned files, or of one table: tsv, csv or jsonl, by the ending of its name.

    The columns, or the keys of an object, are named as the languages are. A tsv or csv without these names in its
    first line has two columns, the source first. An object may hold its texts under `translation`.

    Raises:
        DataError: naming file, line, what came and what was expected.
    """
    first = Path(path).expanduser()
    try:
        if target_path:
            return read_parallel(first, Path(target_path).expanduser())
        if first.suffix.lower() not in TABLES:
            raise DataError(
                f"{path} is none of {', '.join(TABLES)}: for two line-aligned files give the other one as well, "
                "data.path=FILE data.target_path=FILE"
            )
        text = lines_of(first.read_bytes(), path)
    except OSError as error:
        raise DataError(f"cannot read {error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise DataError(str(error)) from error
    if first.suffix.lower() == ".jsonl":
        return list(objects(text, path, source, target))
    return list(columns(table(text, first.suffix.lower(), path), path, source, target))


def table(lines: Sequence[str], suffix: str, path: str) -> list[tuple[int, list[str]]]:
    """The rows with the number of the line each ends on; a tsv has no quotes, so a tab always parts two columns."""
    if suffix == ".tsv":
        return [(number, line.split("\t")) for number, line in enumerate(lines, start=1)]
    reader = csv.reader(io.StringIO("\n".join(lines), newline=""), strict=True)
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from error


def columns(rows: Sequence[tuple[int, list[str]]], path: str, source: str, target: str) -> Iterator[tuple[str, str]]:
    header = [cell.strip() for cell in rows[0][1]] if rows else []
    named = {source, target} <= set(header)
    width = len(header) if named else 2
    places = (header.index(source), header.index(target)) if named else (0, 1)
    for number, row in rows[named:]:
        if not any(row):
            yield "", ""
        elif len(row) != width:
            raise DataError(
                f"{path}, line {number} has {len(row)} columns, wanted {width}"
                + ("" if named else f": {source} and {target}; with more columns, name them in the first line")
            )
        else:
            yield row[places[0]], row[places[1]]


def objects(lines: Sequence[str], path: str, source: str, target: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            yield "", ""
            continue
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise DataError(f"{path}, line {number} is no JSON: {error}") from error
        if isinstance(fields, dict) and isinstance(fields.get("translation"), dict):
            fields = fields["translation"]
        one, other = (fields.get(name) if isinstance(fields, dict) else None for name in (source, target))
        if not isinstance(one, str) or not isinstance(other, str):
            found = sorted(fields) if isinstance(fields, dict) else type(fields).__name__
            raise DataError(f"{path}, line {number}: wanted text under {source} and {target}; found {found}")
        yield one, other


def with_held_out(pairs: dict[str, list[P]], held_out: int, *, seed: int, counts: Counter[str]) -> dict[str, list[P]]:
    """The splits, and for validation and test, where they are missing, pairs drawn from train; counted.

    A pair that occurs twice is in one split only. Never more than a tenth of train is set apart for each.
    """
    missing = [split for split in ("validation", "test") if split not in pairs]
    train = pairs["train"]
    size = min(held_out, len(train) // 10)
    if missing and size < 1:
        raise DataError(
            f"there are {len(train)} pairs, too few to set some apart for {' and '.join(missing)}: give at least 10, "
            "or files of their own, and a data.held_out of 1 or more"
        )
    kinds = list(dict.fromkeys(train))
    random.Random(seed).shuffle(kinds)
    apart: dict[P, str] = {}
    for split in missing:
        apart |= dict.fromkeys(kinds[len(apart) : len(apart) + size], split)
    taken = {split: [pair for pair in train if apart.get(pair) == split] for split in missing}
    counts.update({f"{split}.set_apart_from_train": len(found) for split, found in taken.items()})
    return {**pairs, "train": [pair for pair in train if pair not in apart], **taken}
