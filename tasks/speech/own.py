"""Recordings of a person's own, with a file of transcripts; and recordings set apart where the file names no splits."""

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.progress import track

from core.public import DataError
from core.text import lines_of
from tasks.speech.audio import read_file
from tasks.speech.examples import SPLITS, Recording

TABLES = (".tsv", ".csv", ".jsonl")
SPLIT_NAMES = {"train": "train", "validation": "validation", "valid": "validation", "dev": "validation", "test": "test"}


class Line(NamedTuple):
    """One sound's file and its transcript."""

    path: Path
    text: str
    split: str | None


def read_transcripts(folder: str, transcripts: str) -> list[Line]:
    """The lines of a table with the columns `audio` and `text`, and perhaps `split`.

    A tsv or csv without these names in its first line has two columns, the name of the file first. A jsonl has objects
    with the same keys.

    Raises:
        DataError: naming file, line, what came and what was expected; also for a sound that is named twice.
    """
    path, root = Path(transcripts).expanduser(), Path(folder).expanduser()
    suffix = path.suffix.lower()
    if not root.is_dir():
        raise DataError(f"data.path={folder}: there is no such folder of sounds")
    if suffix not in TABLES:
        raise DataError(f"data.transcripts={transcripts} is none of {', '.join(TABLES)}")
    try:
        text = lines_of(path.read_bytes(), transcripts)
    except OSError as error:
        raise DataError(f"cannot read data.transcripts={transcripts}: {error.strerror}") from error
    except ValueError as error:
        raise DataError(str(error)) from error
    fields = objects(text, transcripts) if suffix == ".jsonl" else columns(text, suffix, transcripts)
    lines = [
        Line(root / audio, text, split_of(split, f"{transcripts}, line {number}"))
        for number, audio, text, split in fields
    ]
    twice = [str(path) for path, count in Counter(line.path for line in lines).items() if count > 1]
    if twice:
        raise DataError(f"{transcripts} names {len(twice)} sounds more than once, {twice[0]} first")
    return lines


Fields = tuple[int, str, str, object]


def columns(lines: Sequence[str], suffix: str, path: str) -> Iterator[Fields]:
    """Line number, file, transcript and split of each row; a tsv has no quotes."""
    if suffix == ".tsv":
        rows = [(number, line.split("\t")) for number, line in enumerate(lines, start=1)]
    else:
        reader = csv.reader(io.StringIO("\n".join(lines), newline=""), strict=True)
        try:
            rows = [(reader.line_num, row) for row in reader]
        except csv.Error as error:
            raise DataError(f"{path}, line {reader.line_num}: {error}") from error
    header = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    named = {"audio", "text"} <= set(header)
    names = header if named else ["audio", "text"]
    for number, row in rows[named:]:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(names):
            raise DataError(
                f"{path}, line {number} has {len(row)} columns, wanted {len(names)}: {', '.join(names)}"
                + ("" if named else "; with more columns, or a comma in a transcript, name them in the first line")
            )
        fields = dict(zip(names, row, strict=True))
        yield number, fields["audio"].strip(), fields["text"], fields.get("split")


def objects(lines: Sequence[str], path: str) -> Iterator[Fields]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise DataError(f"{path}, line {number} is no JSON: {error}") from error
        found = fields if isinstance(fields, dict) else {}
        audio, text = found.get("audio"), found.get("text")
        if not isinstance(audio, str) or not isinstance(text, str):
            what = sorted(found) if found else type(fields).__name__
            raise DataError(f"{path}, line {number}: wanted text under `audio` and under `text`; found {what}")
        yield number, audio, text, found.get("split")


def split_of(name: object, where: str) -> str | None:
    if name in (None, ""):
        return None
    split = SPLIT_NAMES.get(str(name).strip().lower())
    if split is None:
        raise DataError(f"{where}: the split {name!r} is none of {', '.join(SPLIT_NAMES)}")
    return split


def recordings(lines: Sequence[Line], *, skip_broken: bool, counts: Counter[str]) -> dict[str | None, list[Recording]]:
    """The sounds, by split (None: not said), all of them read before anything is trained.

    Raises:
        DataError: naming all that cannot be read, unless they are to be skipped; then they are counted.
    """
    found: dict[str | None, list[Recording]] = {}
    broken = []
    for line in track(lines, "reading sounds", disable=len(lines) < 1000):
        try:
            samples, rate = read_file(line.path)
            found.setdefault(line.split, []).append(Recording(str(line.path), (samples,), rate, line.text))
        except DataError as error:
            broken.append(str(error))
            counts[f"{line.split or 'train'}.broken"] += 1
    if broken and not skip_broken:
        shown = "\n  ".join(broken[:10]) + (f"\n  and {len(broken) - 10} more" if len(broken) > 10 else "")
        raise DataError(
            f"{len(broken)} sounds cannot be used:\n  {shown}\nMend them, or leave them out: data.skip_broken=true"
        )
    return found


def with_held_out(
    found: Mapping[str | None, list[Recording]], held_out: int, *, seed: int
) -> dict[str, list[Recording]]:
    """The splits; recordings of none are train, and validation and test, where missing, are drawn from train: never
    more than a tenth of it each."""
    splits = {split: [*found.get(split, [])] for split in SPLITS}
    splits["train"] += found.get(None, [])
    missing = [split for split in SPLITS[1:] if not splits[split]]
    size = min(held_out, len(splits["train"]) // 10)
    if missing and size < 1:
        raise DataError(
            f"there are {len(splits['train'])} recordings, too few to set some apart for {' and '.join(missing)}: give "
            "at least 10, or name splits in a column `split`, and a data.held_out of 1 or more"
        )
    if missing:
        random.Random(seed).shuffle(splits["train"])
    for split in missing:
        splits[split], splits["train"] = splits["train"][:size], splits["train"][size:]
    return splits
