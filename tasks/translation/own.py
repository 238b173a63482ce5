"""Sentence pairs from a person's own files, and pairs set apart where there is no file for validation or test."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from core.held_out import SPLITS, drawn, share
from core.public import DataError
from core.tables import TABLES, rows_in, texts
from core.text import read_parallel

Pairs = list[tuple[str, str]]
P = TypeVar("P")


def read_pairs(path: str, target_path: str | None, source: str, target: str) -> Pairs:
    """The pairs of two line-aligned files, or of one table: tsv, csv or jsonl, by the ending of its name.

    The columns, or the keys of an object, are named as the languages are. A tsv or csv without these names in its
    first line has two columns, the source first. An object may hold its texts under `translation`.

    Raises:
        DataError: naming file, line, what came and what was expected.
    """
    if not target_path:
        if not path.lower().endswith(TABLES):
            raise DataError(
                f"{path} is none of {', '.join(TABLES)}: for two line-aligned files give the other one as well, "
                "data.path=FILE data.target_path=FILE"
            )
        return list(pairs(path, source, target))
    try:
        return read_parallel(Path(path).expanduser(), Path(target_path).expanduser())
    except OSError as error:
        raise DataError(f"cannot read {error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise DataError(str(error)) from error


def pairs(path: str, source: str, target: str) -> Iterator[tuple[str, str]]:
    """The pairs of a table; a blank row is an empty one."""
    for where, fields in rows_in(path, (source, target)):
        if fields is None:
            yield "", ""
            continue
        inside = fields.get("translation")
        one, other = texts(inside if isinstance(inside, dict) else fields, (source, target), where)
        yield one, other


def with_held_out(pairs: dict[str, list[P]], held_out: int, *, seed: int, counts: Counter[str]) -> dict[str, list[P]]:
    """The splits, and for validation and test, where they are missing, pairs drawn from train; counted.

    A pair that occurs twice is in one split only. Never more than a tenth of train is set apart for each.
    """
    missing = [split for split in SPLITS[1:] if split not in pairs]
    train = pairs["train"]
    size = share(len(train), held_out, missing, things="pairs", instead="files of their own")
    apart = drawn(dict.fromkeys(train), size, missing, seed=seed)
    taken = {split: [pair for pair in train if apart.get(pair) == split] for split in missing}
    counts.update({f"{split}.set_apart_from_train": len(found) for split, found in taken.items()})
    return {**pairs, "train": [pair for pair in train if pair not in apart], **taken}
