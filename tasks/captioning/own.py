"""Pictures of a person's own, with a file of captions; and pictures set apart where the file names no splits."""

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from core.public import DataError
from core.text import lines_of
from tasks.captioning.examples import SPLITS, Captioned
from tasks.captioning.pictures import Photo

TABLES = (".tsv", ".csv", ".jsonl")
SPLIT_NAMES = {"train": "train", "validation": "validation", "valid": "validation", "dev": "validation", "test": "test"}


class Line(NamedTuple):
    """One caption of one picture."""

    image: str
    caption: str
    split: str | None


def read_captions(folder: str, captions: str) -> dict[str | None, list[Captioned]]:
    """The pictures that a file of captions names, in the order of their first captions, by split (None: not said).

    A tsv or csv has a line for each caption with the columns `image` and `caption`, and perhaps `split`; without these
    names in its first line it has two columns, the name of the picture's file first ("a.jpg#0" counts as "a.jpg"). A
    jsonl has objects with the same keys; `caption` may be a list, or be called `captions`.

    Raises:
        DataError: naming file, line, what came and what was expected.
    """
    path, root = Path(captions).expanduser(), Path(folder).expanduser()
    if not root.is_dir():
        raise DataError(f"data.path={folder}: there is no such folder of pictures")
    if path.suffix.lower() not in TABLES:
        raise DataError(f"data.captions={captions} is none of {', '.join(TABLES)}")
    try:
        text = lines_of(path.read_bytes(), captions)
    except OSError as error:
        raise DataError(f"cannot read data.captions={captions}: {error.strerror}") from error
    except ValueError as error:
        raise DataError(str(error)) from error
    suffix = path.suffix.lower()
    lines = objects(text, captions) if suffix == ".jsonl" else columns(rows_of(text, suffix, captions), captions)
    return by_split(lines, root)


def rows_of(lines: Sequence[str], suffix: str, path: str) -> list[tuple[int, list[str]]]:
    """The rows with the number of the line that each ends on; a tsv has no quotes."""
    if suffix == ".tsv":
        return [(number, line.split("\t")) for number, line in enumerate(lines, start=1)]
    reader = csv.reader(io.StringIO("\n".join(lines), newline=""), strict=True)
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from error


def columns(rows: Sequence[tuple[int, list[str]]], path: str) -> Iterator[Line]:
    header = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    named = {"image", "caption"} <= set(header)
    names = header if named else ["image", "caption"]
    for number, row in rows[named:]:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(names):
            raise DataError(
                f"{path}, line {number} has {len(row)} columns, wanted {len(names)}: {', '.join(names)}"
                + ("" if named else "; with more columns, or a comma in a caption, name them in the first line")
            )
        fields = dict(zip(names, row, strict=True))
        yield Line(fields["image"].strip(), fields["caption"], split_of(fields.get("split"), f"{path}, line {number}"))


def objects(lines: Sequence[str], path: str) -> Iterator[Line]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise DataError(f"{path}, line {number} is no JSON: {error}") from error
        captions = fields.get("caption", fields.get("captions")) if isinstance(fields, dict) else None
        captions = [captions] if isinstance(captions, str) else captions
        image = fields.get("image") if isinstance(fields, dict) else None
        if (
            not isinstance(image, str)
            or not isinstance(captions, list)
            or not all(isinstance(c, str) for c in captions)
        ):
            found = sorted(fields) if isinstance(fields, dict) else type(fields).__name__
            raise DataError(f"{path}, line {number}: wanted text under image, and text or a list of it under caption; "
                            f"found {found}")  # fmt: skip
        split = split_of(fields.get("split"), f"{path}, line {number}")
        yield from (Line(image, caption, split) for caption in captions)


def split_of(name: object, where: str) -> str | None:
    if name in (None, ""):
        return None
    split = SPLIT_NAMES.get(str(name).strip().lower())
    if split is None:
        raise DataError(f"{where}: the split {name!r} is none of {', '.join(SPLIT_NAMES)}")
    return split


def by_split(lines: Iterator[Line], root: Path) -> dict[str | None, list[Captioned]]:
    pictures: dict[str, Captioned] = {}
    splits: dict[str, str | None] = {}
    for image, caption, split in lines:
        name, mark, number = image.rpartition("#")
        name = name if mark and number.isdigit() else image
        if splits.setdefault(name, split) != split:
            raise DataError(f"the picture {name} is in two splits, {splits[name]} and {split}")
        pictures.setdefault(name, Captioned(Photo.of_file(root / name), [])).captions.append(caption)
    found: dict[str | None, list[Captioned]] = {}
    for name, each in pictures.items():
        found.setdefault(splits[name], []).append(each)
    return found


def without_broken(
    found: dict[str | None, list[Captioned]], *, skip: bool, counts: Counter[str]
) -> dict[str | None, list[Captioned]]:
    """The pictures that can be opened, every one tried before anything is trained.

    Raises:
        DataError: naming all that cannot be, unless they are to be skipped; then they are counted.
    """
    kept: dict[str | None, list[Captioned]] = {split: [] for split in found}
    broken = []
    for split, pictures in found.items():
        for each in pictures:
            try:
                each.photo.pixels()
                kept[split].append(each)
            except DataError as error:
                broken.append(str(error))
                counts[f"{split or 'train'}.broken_pictures"] += 1
    if broken and not skip:
        shown = "\n  ".join(broken[:10]) + (f"\n  and {len(broken) - 10} more" if len(broken) > 10 else "")
        raise DataError(
            f"{len(broken)} pictures cannot be used:\n  {shown}\nMend them, or leave them out: data.skip_broken=true"
        )
    return kept


def with_held_out(found: dict[str | None, list[Captioned]], held_out: int, *, seed: int) -> dict[str, list[Captioned]]:
    """The splits; pictures of none are train, and validation and test, where missing, are drawn from train: never more
    than a tenth of it each."""
    splits = {split: [*found.get(split, [])] for split in SPLITS}
    splits["train"] += found.get(None, [])
    missing = [split for split in SPLITS[1:] if not splits[split]]
    size = min(held_out, len(splits["train"]) // 10)
    if missing and size < 1:
        raise DataError(
            f"there are {len(splits['train'])} pictures, too few to set some apart for {' and '.join(missing)}: give "
            "at least 10, or name splits in a column `split`, and a data.held_out of 1 or more"
        )
    random.Random(seed).shuffle(splits["train"]) if missing else None
    for split in missing:
        splits[split], splits["train"] = splits["train"][:size], splits["train"][size:]
    return splits
