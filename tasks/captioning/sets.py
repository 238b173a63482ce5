"""Where pictures and captions come from: Flickr8k, a folder of one's own, and the built-in set."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from core.held_out import SPLITS, with_held_out
from core.public import DataError, load_public
from tasks.captioning import own, toy
from tasks.captioning.boxes import grounded_by_split
from tasks.captioning.data import CaptioningData
from tasks.captioning.examples import Captioned
from tasks.captioning.grounding import Grounded, Phrase
from tasks.captioning.pictures import Photo

CAPTIONS = tuple(f"caption_{number}" for number in range(5))


class Flickr8k(CaptioningData):
    """A column `image` and five captions a picture, from the hub or a local folder of the same layout. `boxes` is a
    file or folder of phrases with boxes, found by the names of the pictures, or else by what the captions say."""

    def __init__(self, *, path: str, boxes: str | None = None, **shared: Any) -> None:
        super().__init__(**shared)
        self.path, self.boxes = path, boxes
        self.found: dict[str, list[Grounded]] = {}

    def captioned(self) -> dict[str, list[Captioned]]:
        loaded = load_public(self.path, columns=("image", *CAPTIONS), splits=SPLITS)
        captioned = {split: rows_of(loaded[split], split) for split in SPLITS}
        if self.boxes:
            self.found = grounded_by_split(self.boxes, captioned, self.counts)
        return captioned

    def grounded(self, split: str) -> list[Grounded]:
        return self.found.get(split, [])

    def report(self) -> list[str]:
        counts = self.counts
        boxes = (
            f"boxes: {counts['boxes.phrases']:,} phrases of {counts['boxes.captions']:,} captions of validation and "
            f"test; {counts['boxes.captions_without_picture']:,} captions without a picture here"
        )
        return [*super().report(), *([boxes] if self.boxes else [])]


def rows_of(rows: Any, split: str) -> list[Captioned]:
    """Pictures that are read from the set when they are needed."""
    from datasets import Image

    names = rows["filename"] if "filename" in rows.column_names else None
    images = rows.cast_column("image", Image(decode=False))["image"]
    captions = zip(*(rows[column] for column in CAPTIONS), strict=True)
    return [
        Captioned(
            Photo(names[number] if names else f"{split} {number}", partial(bytes_of, images, number)),
            [line or "" for line in lines],
        )
        for number, lines in enumerate(captions)
    ]


def bytes_of(images: Sequence[dict[str, Any]], number: int) -> bytes:
    image = images[number]
    if not image.get("bytes"):
        raise DataError(f"row {number} of the column image holds no bytes, only the path {image.get('path')}")
    return image["bytes"]


class ImagesWithCaptions(CaptioningData):
    """A folder of pictures and a file of their captions. Where the file names no splits, pictures are set apart."""

    def __init__(
        self, *, path: str, captions: str, held_out: int = 1000, skip_broken: bool = False, **shared: Any
    ) -> None:
        super().__init__(**shared)
        self.path, self.captions = path, captions
        self.held_out, self.skip_broken = held_out, skip_broken

    def captioned(self) -> dict[str, list[Captioned]]:
        found = own.read_captions(self.path, self.captions)
        whole = own.without_broken(found, skip=self.skip_broken, counts=self.counts)
        return with_held_out(whole, self.held_out, seed=self.seed)


class ToyCaptions(CaptioningData):
    """The built-in scenes, in which the box of every named thing is known: so the maps can be right or wrong."""

    def __init__(
        self,
        *,
        encoder: str | None,
        size: int,
        cells: int,
        tokens_per_batch: int,
        max_length: int,
        min_count: int = 1,
        features: str | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            encoder=encoder,
            size=size,
            cells=cells,
            tokens_per_batch=tokens_per_batch,
            max_length=max_length,
            min_count=min_count,
            features=features,
            seed=seed,
        )
        self.scenes: dict[str, list[toy.Scene]] = {}

    def captioned(self) -> dict[str, list[Captioned]]:
        self.scenes = toy.scenes(seed=self.seed)
        return {
            split: [Captioned(toy_photo(split, n, each), [each.caption]) for n, each in enumerate(found)]
            for split, found in self.scenes.items()
        }

    def grounded(self, split: str) -> list[Grounded]:
        return [
            Grounded(
                f"toy {split} {number}",
                tuple(each.caption.split()),
                tuple(Phrase(start, end, (box,)) for start, end, box in each.named),
            )
            for number, each in enumerate(self.scenes[split])
        ]


def toy_photo(split: str, number: int, scene: toy.Scene) -> Photo:
    return Photo(f"toy {split} {number}", partial(toy.png, scene.pixels))
