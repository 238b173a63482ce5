"""Phrases of captions with the boxes of what they name, drawn by people (Plummer et al. 2015, Flickr30k Entities)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from core.maps.pointing import Box
from core.public import DataError, load_public
from tasks.captioning.grounding import Grounded, Phrase
from tasks.captioning.words import caption_words

COLUMNS = ("filename", "caption", "phrases")
SCORED = ("validation", "test")


def grounded_by_split(
    path: str, captioned: Mapping[str, Sequence[Any]], counts: Counter[str]
) -> dict[str, list[Grounded]]:
    """The captions of validation and test that have phrases with boxes, each with the picture that it belongs to: by
    the name of its file, and where the set has no such name, by the captions. What has no picture is counted.

    Raises:
        DataError: if the file cannot be read, or none of its captions belongs to a picture.
    """
    rows = load_public(path, columns=COLUMNS, splits=("train",))["train"]
    by_name, by_words = pictures_by(captioned)
    found: dict[str, list[Grounded]] = {split: [] for split in SCORED}
    for name, caption, phrases in zip(*(rows[column] for column in COLUMNS), strict=True):
        place = by_name.get(name) or by_words.get(" ".join(caption_words(caption)))
        if place is None:
            counts["boxes.captions_without_picture"] += 1
            continue
        split, photo = place
        words, spans = words_of(caption)
        kept = tuple(phrase for each in phrases if (phrase := phrase_of(each, spans)))
        if split in found and kept:
            found[split].append(Grounded(photo, words, kept))
    counts["boxes.captions"] = sum(map(len, found.values()))
    counts["boxes.phrases"] = sum(len(each.phrases) for some in found.values() for each in some)
    if not all(found.values()):
        raise DataError(
            f"data.boxes={path}: of {len(rows):,} captions, {len(found['validation'])} belong to pictures of "
            f"validation and {len(found['test'])} to those of test, by file name or by words: it is of other pictures"
        )
    return found


def pictures_by(
    captioned: Mapping[str, Sequence[Any]],
) -> tuple[dict[str, tuple[str, str]], dict[str, tuple[str, str]]]:
    """Split and name of each picture, by its name, and by those captions that no other picture has."""
    by_name, by_words, twice = {}, {}, set()
    for split, pictures in captioned.items():
        for photo, captions in pictures:
            by_name[photo.name] = split, photo.name
            for line in {" ".join(caption_words(caption)) for caption in captions}:
                if line in by_words:
                    twice.add(line)
                by_words[line] = split, photo.name
    return by_name, {line: place for line, place in by_words.items() if line and line not in twice}


def words_of(caption: str) -> tuple[tuple[str, ...], list[int]]:
    """The words of a caption that was split at spaces, and how many of them stand before each of its parts."""
    words: list[str] = []
    starts = []
    for part in caption.split():
        starts.append(len(words))
        words += caption_words(part)
    return tuple(words), [*starts, len(words)]


def phrase_of(phrase: Mapping[str, Any], starts: Sequence[int]) -> Phrase | None:
    """None where a phrase has no box, no words, or lies outside its caption."""
    start, end = phrase["start"], phrase["end"]
    if not (phrase["boxes"] and 0 <= start < end < len(starts)) or starts[start] == starts[end]:
        return None
    boxes = tuple(box for each in phrase["boxes"] if (box := box_of(each)))
    return Phrase(starts[start], starts[end], boxes) if boxes else None


def box_of(box: Sequence[float]) -> Box | None:
    left, top, right, bottom = (min(1.0, max(0.0, float(edge))) for edge in box)
    return (left, top, right, bottom) if left < right and top < bottom else None
