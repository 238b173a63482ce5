"""A person's own texts: a text or its file, a jsonl of articles, or a folder of them."""

import json
from pathlib import Path

from core.public import DataError
from core.tables import lines_in

Row = tuple[str, str, tuple[int, ...] | None]
"""An article, a summary of it, and numbers of its sentences where they are given."""


def text_of(line: str) -> str:
    """What stands in the file of this name, or the line itself where there is none.

    Raises:
        DataError: for a file that is not UTF-8, and for a name that ends in .txt and is no file.
    """
    try:
        path = Path(line).expanduser()
        named = bool(line.strip()) and "\n" not in line and path.is_file()
    except (OSError, ValueError, RuntimeError):  # too long for a name, or with a character that no name has
        named = False
    if named:
        return read_text(path)
    if line.endswith(".txt") and len(line.split()) == 1:
        raise DataError(f"{line}: there is no such file; a text to summarize is given as it is")
    return line


def read_text(path: Path) -> str:
    return "\n".join(lines_in(path))


def read_documents(path: str) -> list[Row]:
    """A jsonl with `article` and `summary`, and perhaps `labels`, numbers of sentences from 0; or a folder of NAME.txt,
    each with a NAME.summary.txt beside it.

    Raises:
        DataError: naming file, line, what came and what was expected.
    """
    place = Path(path).expanduser()
    if place.is_dir():
        return pairs_of(place)
    if place.suffix.lower() != ".jsonl":
        raise DataError(f"data.path={path}: expected a folder of .txt files, or a file that ends in .jsonl")
    lines = read_text(place).split("\n")
    return [row_of(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1) if line.strip()]


def pairs_of(folder: Path) -> list[Row]:
    articles = sorted(each for each in folder.glob("*.txt") if not each.name.endswith(".summary.txt"))
    alone = [each.name for each in articles if not each.with_suffix(".summary.txt").is_file()]
    if not articles or alone:
        found = f"{len(alone)} files have no summary, the first is {alone[0]}" if alone else "there is no .txt file"
        raise DataError(f"{folder}: {found}. Beside each NAME.txt stands its NAME.summary.txt")
    return [(read_text(each), read_text(each.with_suffix(".summary.txt")), None) for each in articles]


def row_of(line: str, where: str) -> Row:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where} is no JSON: {error}") from error
    found = sorted(fields) if isinstance(fields, dict) else type(fields).__name__
    if not isinstance(fields, dict) or not isinstance(fields.get("article"), str):
        raise DataError(f"{where}: wanted text under article; found {found}")
    summary, labels = fields.get("summary", ""), fields.get("labels")
    if not isinstance(summary, str) or not (summary.strip() or labels):
        raise DataError(f"{where}: wanted text under summary, or labels; found {found}")
    if labels is not None and not (isinstance(labels, list) and all(type(each) is int for each in labels)):
        raise DataError(f"{where}: labels are numbers of sentences, from 0; found {labels!r}")
    return fields["article"], summary, tuple(labels) if labels is not None else None
