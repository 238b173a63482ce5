"""A person's own texts: a jsonl of articles, or a folder of them."""

import json
from pathlib import Path

from core.public import DataError
from core.tables import lines_in, text_in

Row = tuple[str, str, tuple[int, ...] | None]
"""An article, a summary of it, and numbers of its sentences where they are given."""


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
    lines = lines_in(place)
    return [row_of(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1) if line.strip()]


def pairs_of(folder: Path) -> list[Row]:
    articles = sorted(each for each in folder.glob("*.txt") if not each.name.endswith(".summary.txt"))
    alone = [each.name for each in articles if not each.with_suffix(".summary.txt").is_file()]
    if not articles or alone:
        found = f"{len(alone)} files have no summary, the first is {alone[0]}" if alone else "there is no .txt file"
        raise DataError(f"{folder}: {found}. Beside each NAME.txt stands its NAME.summary.txt")
    return [(text_in(each), text_in(each.with_suffix(".summary.txt")), None) for each in articles]


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
