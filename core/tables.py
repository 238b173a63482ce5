"""A person's own files: texts, and tables as tsv, csv and jsonl. What does not fit is named with its file and line, and
what was wanted."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from core.public import DataError
from core.text import lines_of

TABLES = (".tsv", ".csv", ".jsonl")
SPLIT_NAMES = {"train": "train", "validation": "validation", "valid": "validation", "dev": "validation", "test": "test"}

Row = tuple[str, dict[str, Any] | None]
"""Where a row stands, "FILE, line 3", and its fields by name; None for a blank row."""


def lines_in(path: str | Path) -> list[str]:
    """The lines of a UTF-8 file.

    Raises:
        DataError: if it cannot be read, or is in another encoding.
    """
    try:
        return lines_of(Path(path).expanduser().read_bytes(), str(path))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise DataError(str(error)) from error


def text_in(path: str | Path) -> str:
    """The text of a UTF-8 file; raises as `lines_in`."""
    return "\n".join(lines_in(path))


def text_of(given: str) -> str:
    """What stands in the file of this name, or the text itself where it is no file's.

    Raises:
        DataError: as `lines_in`, and for a name that ends in .txt and is no file.
    """
    try:
        named = bool(given.strip()) and "\n" not in given and Path(given).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):  # too long for a name, or with a character that no name has
        named = False
    if named:
        return text_in(given)
    if given.endswith(".txt") and len(given.split()) == 1:
        raise DataError(f"{given}: there is no such file. Give the path of one, or the text itself")
    return given


def rows_in(path: str, columns: Sequence[str]) -> Iterator[Row]:
    """The rows of a table, read as the ending of its name says.

    A tsv or csv names its columns in the first line, in capitals or not, or has just the wanted ones in this order;
    their fields are all text. A jsonl has an object a line, whose fields may be anything: see `texts`.

    Raises:
        DataError: naming file, line, what came and what was expected.
    """
    if not path.lower().endswith(TABLES):
        raise DataError(f"{path} is none of {', '.join(TABLES)}: save the table as one of these")
    return objects(path, columns) if path.lower().endswith(".jsonl") else named(path, columns)


def named(path: str, columns: Sequence[str]) -> Iterator[Row]:
    rows = cells(path)
    first = [cell.strip() for cell in rows[0][1]] if rows else []
    header = [cell if cell in columns else cell.lower() for cell in first]
    if twice := [name for name in columns if header.count(name) > 1]:
        raise DataError(f"{path}, line 1 names {twice[0]} twice: found {first}, wanted each once. Rename the other one")
    has_header = set(columns) <= set(header)
    names = header if has_header else list(columns)
    for number, row in rows[has_header:]:
        where = f"{path}, line {number}"
        if not any(cell.strip() for cell in row):
            yield where, None
        elif len(row) != len(names):
            raise DataError(
                f"{where} has {len(row)} columns, wanted {len(names)}: {', '.join(names)}; with more columns, name "
                "them in the first line; in a csv, a text with a comma stands in quotes"
            )
        else:
            yield where, dict(zip(names, row, strict=True))


def cells(path: str) -> list[tuple[int, list[str]]]:
    """Each row with the number of the line it ends on; a tsv has no quotes, so a tab always parts two columns."""
    lines = lines_in(path)
    if path.lower().endswith(".tsv"):
        return [(number, line.split("\t")) for number, line in enumerate(lines, start=1)]
    reader = csv.reader(io.StringIO("\n".join(lines), newline=""), strict=True)
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise DataError(
            f"{path}, line {reader.line_num}: {error}; wanted a csv, in which a quote inside quotes is doubled"
        ) from error


def objects(path: str, columns: Sequence[str]) -> Iterator[Row]:
    for number, line in enumerate(lines_in(path), start=1):
        where = f"{path}, line {number}"
        if not line.strip():
            yield where, None
            continue
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise DataError(f"{where} is no JSON: {error}; wanted an object in each line") from error
        if not isinstance(fields, dict):
            raise DataError(f"{where}: wanted text under {' and '.join(columns)}; found {type(fields).__name__}")
        yield where, fields


def texts(fields: dict[str, Any], names: Sequence[str], where: str) -> tuple[str, ...]:
    """The fields of these names.

    Raises:
        DataError: if one is missing, or no text.
    """
    found = tuple(text for name in names if isinstance(text := fields.get(name), str))
    if len(found) < len(names):
        raise DataError(f"{where}: wanted text under {' and '.join(names)}; found {sorted(fields)}")
    return found


def split_of(name: object, where: str) -> str | None:
    """The split that a field `split` names; None where it is missing or empty."""
    if name in (None, ""):
        return None
    split = SPLIT_NAMES.get(str(name).strip().lower())
    if split is None:
        raise DataError(f"{where}: the split {name!r} is none of {', '.join(SPLIT_NAMES)}")
    return split
