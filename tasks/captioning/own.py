"""Pictures of a person's own, with a file of captions."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from core.public import DataError
from core.tables import rows_in, split_of
from tasks.captioning.examples import Captioned
from tasks.captioning.pictures import Photo


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
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise DataError(f"data.path={folder}: there is no such folder of pictures")
    return by_split(lines_of_captions(captions), root)


def lines_of_captions(path: str) -> Iterator[Line]:
    for where, fields in rows_in(path, ("image", "caption")):
        if fields is None:
            continue
        told = fields.get("caption", fields.get("captions"))
        told = [told] if isinstance(told, str) else told
        image = fields.get("image")
        if not isinstance(image, str) or not isinstance(told, list) or not all(isinstance(each, str) for each in told):
            raise DataError(f"{where}: wanted text under image, and text or a list of it under caption; "
                            f"found {sorted(fields)}")  # fmt: skip
        split = split_of(fields.get("split"), where)
        yield from (Line(image.strip(), caption, split) for caption in told)


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
