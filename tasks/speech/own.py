"""Recordings of a person's own, with a file of transcripts."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.progress import track

from core.public import DataError
from core.tables import rows_in, split_of, texts
from tasks.speech.audio import read_file
from tasks.speech.examples import Recording


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
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise DataError(f"data.path={folder}: there is no such folder of sounds")
    lines = []
    for where, fields in rows_in(transcripts, ("audio", "text")):
        if fields is not None:
            audio, text = texts(fields, ("audio", "text"), where)
            lines.append(Line(root / audio.strip(), text, split_of(fields.get("split"), where)))
    twice = [str(path) for path, count in Counter(line.path for line in lines).items() if count > 1]
    if twice:
        raise DataError(f"{transcripts} names {len(twice)} sounds more than once, {twice[0]} first")
    return lines


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
