"""What a person should know of the data before a training, in lines."""

from collections.abc import Mapping
from pathlib import Path

from tasks.captioning.encoders import Kept

LEFT_OUT = {
    "pictures_without_caption": "without a caption in words",
    "blank_captions": "blank captions left out",
    "captions_without_words": "captions without a word left out",
    "broken_pictures": "broken pictures left out",
}


def read_of(split: str, counts: Mapping[str, int]) -> str:
    """What was read of a split, and what was left out of it."""
    more = [f"{count:,} {words}" for kind, words in LEFT_OUT.items() if (count := counts.get(f"{split}.{kind}", 0))]
    return "; ".join(
        [f"{split}: {counts[f'{split}.pictures']:,} pictures, {counts[f'{split}.captions']:,} captions", *more]
    )


def made_by(asked: str, kept: Kept | None, folder: Path) -> str:
    """Which encoder makes the features, and whether it is the one that was asked for."""
    name = kept.name if kept else asked
    instead = "" if name == asked else f" (the weights of {asked} cannot be had)"
    return f"features by {name}{instead}, kept in {folder}"
