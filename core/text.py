"""Reading text: lines, parallel lines, words; and the tokenizer, so that one import serves training and prediction."""

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from core.tokenizer import Pieces, Tokenizer, clean, cut

__all__ = [
    "Pieces",
    "Tokenizer",
    "clean",
    "cut",
    "lines_of",
    "places_of",
    "read_lines",
    "read_parallel",
    "word_of_piece",
    "words",
]

# How the names of characters begin in scripts that are written without spaces between words.
_UNSPACED = ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA")
_UNSPACED += ("THAI", "LAO", "KHMER", "MYANMAR")


def read_lines(path: str | Path) -> list[str]:
    """The lines of a UTF-8 file."""
    return lines_of(Path(path).read_bytes(), str(path))


def lines_of(data: bytes, name: str) -> list[str]:
    """Lines of UTF-8 that end at \\n or \\r\\n and nowhere else; a byte order mark is dropped.

    `str.splitlines` would also split at U+2028, U+0085 and form feeds, and parallel files would drift apart. Raises
    ValueError for other encodings, with the `name` of where it came from and the place.
    """
    text = data.removeprefix(b"\xef\xbb\xbf")
    try:
        lines = text.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        offset = error.start + len(data) - len(text)
        raise ValueError(f"{name} is not UTF-8 at byte {offset} (0x{data[offset]:02x}): save it as UTF-8") from None
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_parallel(source_path: str | Path, target_path: str | Path) -> list[tuple[str, str]]:
    """Line n of one file with line n of the other. Files of different length are an error, never cut to the shorter."""
    sources, targets = read_lines(source_path), read_lines(target_path)
    if len(sources) != len(targets):
        raise ValueError(
            f"parallel files must have equally many lines: {source_path} has {len(sources)}, {target_path} has "
            f"{len(targets)}. One missing line shifts every later pair, so find it before training"
        )
    return list(zip(sources, targets, strict=True))


def places_of(words: Sequence[str], word: str) -> list[int]:
    """Where a word stands among others, as it is written; where it nowhere does, whatever its capitals."""
    as_written = [place for place, each in enumerate(words) if each == word]
    return as_written or [place for place, each in enumerate(words) if each.casefold() == word.casefold()]


def words(text: str) -> list[tuple[int, int]]:
    """Where each word stands in the text: [start, end), in order.

    Letters and digits that stand together are a word; any other visible character is one of its own, so "don't" is
    three. In Han, Hiragana, Katakana, Thai, Lao, Khmer and Myanmar, written without spaces, each character is a word.
    An accent or vowel sign belongs to the character before it.
    """
    spans: list[tuple[int, int]] = []
    before = "space"
    for at, char in enumerate(text):
        sort = _sort(char)
        if sort == "mark" and before != "space" or sort == before == "letter":
            spans[-1] = (spans[-1][0], at + 1)
        elif sort != "space":
            spans.append((at, at + 1))
        before = before if sort == "mark" and before != "space" else sort
    return spans


@cache
def _sort(char: str) -> str:
    if not clean(char):
        return "space"
    category = unicodedata.category(char)
    if category[0] == "M" or category == "Cf":
        return "mark"
    spaced = category[0] in "LN" and not unicodedata.name(char, "").startswith(_UNSPACED)
    return "letter" if spaced else "single"


def word_of_piece(spans: Sequence[tuple[int, int]], words: Sequence[tuple[int, int]]) -> list[int]:
    """For each piece the index of the word it shares most characters with, the first of equals; -1 for none."""
    ends = [end for _, end in words]
    owners = []
    for start, end in spans:
        most, owner = 0, -1
        for index in range(bisect_right(ends, start), len(words)):
            shared = min(end, words[index][1]) - max(start, words[index][0])
            if words[index][0] >= end:
                break
            if shared > most:
                most, owner = shared, index
        owners.append(owner)
    return owners
