"""Subword pieces (sentencepiece) that remember where they stand in the text, so a label is always what was typed."""

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from core.files import whole_file
from core.sentencepiece_model import KINDS, SPECIAL, kind_of, open_model, train_model

_BLANKS = [*range(0x20), *range(0x7F, 0xA1), 0x1680, *range(0x2000, 0x200C), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
_SPACE = "\u2581"  # sentencepiece's own sign for a space
_MARKS = [ord(_SPACE), 0xFEFF]  # and the byte order mark
# One character for one character, so that no offset moves. A surrogate alone cannot be written as UTF-8.
_PLAIN = dict.fromkeys(_BLANKS + _MARKS, " ") | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_RESERVED = "\u2585"  # sentencepiece leaves out every training line that has it


class Pieces(NamedTuple):
    """A text in pieces: `text[start:end] == label` for each span. A piece that is only a space has an empty label."""

    ids: list[int]
    labels: list[str]
    spans: list[tuple[int, int]]
    unknown: list[str]


def clean(line: str) -> str:
    """The text that is shown, trained on, predicted from and scored against: one form for all of them.

    Tabs, control characters, no-break, zero-width and other blanks become single spaces, none at the ends; accents are
    composed (NFC); half a surrogate pair becomes U+FFFD. "½", "ﬁ" and "，" stay what they are, so that what is decoded
    is written as its reference is. The tokenizer does this to what it is given: `encode(text) == encode(clean(text))`.
    """
    return " ".join(unicodedata.normalize("NFC", line.translate(_PLAIN)).split())


def cut(pieces: Pieces, limit: int) -> Pieces:
    """The first `limit` pieces. How many there were is `len(pieces.ids)` before the cut: tell the user both numbers."""
    if limit < 0:
        raise ValueError(f"cannot keep {limit} pieces: the limit must be 0 or more")
    return _pieces(pieces.ids[:limit], pieces.labels[:limit], pieces.spans[:limit])


class Tokenizer:
    """Text to ids and back, by a sentencepiece model whose special ids are fixed.

    Nothing assumes that spaces separate words. An unknown character is an unknown piece (neighbours share one), never
    bytes, so no cut can halve a character. The first piece carries an invisible space; where no learned piece starts
    with one (as in Chinese), it is a piece of its own with an empty label.
    """

    PAD, UNKNOWN, START, END = SPECIAL

    def __init__(self, *, model: bytes):
        self._bytes = model
        self._model = open_model(model)
        self.kind = kind_of(model)
        self.size: int = self._model.vocab_size()
        self.digest = hashlib.sha256(model).hexdigest()

    @classmethod
    def train(cls, lines: Iterable[str], *, size: int, kind: str = "bpe") -> "Tokenizer":
        """Learn at most `size` pieces; a small corpus gives fewer, so read `.size` afterwards. Same lines, same bytes.

        With "bpe" and room to spare every word (to 31 characters) becomes one piece, punctuation another. "word" splits
        at spaces only, so "Hund." is a word of its own. Raises ValueError if `size` cannot hold every character.
        """
        if kind not in KINDS.values():
            raise ValueError(f"no tokenizer of kind {kind!r}: choose from {', '.join(KINDS.values())}")
        corpus = _corpus(lines)
        least = cls.END + 1 + (1 if kind == "word" else len(set("".join(corpus)) | {" "}))
        if size < least:
            raise ValueError(f"a {kind} vocabulary of {size} is too small for this text: it needs at least {least}")
        return cls(model=train_model(corpus, size, kind))

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Read what `save` wrote. A missing, empty, damaged or foreign file is an error that names it."""
        try:
            return cls(model=Path(path).read_bytes())
        except FileNotFoundError:
            raise FileNotFoundError(f"no tokenizer at {path}: it is written when a model is trained") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the model whole or not at all: under a temporary name beside `path`, then renamed."""
        with whole_file(path) as file:
            file.write(self._bytes)

    def encode(self, text: str) -> list[int]:
        """Ids without start and end."""
        text = unicodedata.normalize("NFC", text.translate(_PLAIN))
        return [id for start, end in self._parts(text) for id in self._model.encode(text[start:end])]

    def pieces(self, text: str) -> Pieces:
        """The same ids as `encode`, each with its surface and its place in `text` as given, before any cleaning."""
        plain = text.translate(_PLAIN)
        composed, origin = _compose(plain)
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        for first, last in self._parts(composed):
            found = self._model.encode(composed[first:last], out_type="offset_mapping")
            ids += found["ids"]
            spans += [_trim(plain, origin[first + start], origin[first + end]) for start, end in found["offsets"]]
        return _pieces(ids, [text[start:end] for start, end in spans], spans)

    def decode(self, ids: Iterable[int]) -> str:
        """The clean text of the ids; padding, unknown, start and end leave no trace in it."""
        ids = [int(id) for id in ids]
        if ids and not 0 <= min(ids) <= max(ids) < self.size:
            raise ValueError(f"ids from {min(ids)} to {max(ids)}, but this vocabulary has 0 to {self.size - 1}")
        return clean(self._model.decode([id for id in ids if id > self.END]))

    def spell(self, ids: Iterable[int]) -> tuple[str, Pieces]:
        """The text of the ids, as `decode` gives it, and these very ids as its pieces."""
        ids = [int(id) for id in ids]
        text = self.decode(ids)
        ends = [len(self.decode(ids[:count])) for count in range(len(ids) + 1)]
        spans = [_trim(text, start, max(start, end)) for start, end in zip(ends, ends[1:], strict=False)]
        return text, _pieces(ids, [text[start:end] for start, end in spans], spans)

    def _parts(self, text: str) -> Iterator[tuple[int, int]]:
        """The whole text; for kind "word" each word, since sentencepiece makes one unknown of neighbouring ones."""
        start = 0
        for part in text.split(" ") if self.kind == "word" else [text]:
            yield start, start + len(part)
            start += len(part) + 1


def _pieces(ids: list[int], labels: list[str], spans: list[tuple[int, int]]) -> Pieces:
    unknown = [label for id, label in zip(ids, labels, strict=True) if id == Tokenizer.UNKNOWN]
    return Pieces(ids, labels, spans, unknown)


def _trim(plain: str, start: int, end: int) -> tuple[int, int]:
    inside = plain[start:end]
    start += len(inside) - len(inside.lstrip(" "))
    return start, max(start, end - len(inside) + len(inside.rstrip(" ")))


def _compose(text: str) -> tuple[str, Sequence[int]]:
    """The text in NFC, and for each of its characters (and its end) the place in the text where it came from."""
    if unicodedata.is_normalized("NFC", text):
        return text, range(len(text) + 1)
    starts = [at for at, char in enumerate(text) if at == 0 or not _joins(char)]
    composed, origin = [], []
    for start, end in zip(starts, starts[1:] + [len(text)], strict=True):
        group = unicodedata.normalize("NFC", text[start:end])
        composed.append(group)
        origin += [min(start + at, end) for at in range(len(group))]
    return "".join(composed), origin + [len(text)]


def _joins(char: str) -> bool:
    """Whether a character may melt into the one before it: accents, vowel signs, and Korean vowels and finals."""
    return unicodedata.category(char)[0] == "M" or "\u1160" <= char <= "\u11ff"


def _corpus(lines: Iterable[str]) -> list[str]:
    if isinstance(lines, str):
        raise TypeError("a tokenizer learns from a list of lines, but got one string: split it into lines")
    lines = list(lines)
    wrong = next((line for line in lines if not isinstance(line, str)), "")
    if wrong != "":
        raise TypeError(f"a tokenizer learns from strings, but a line is {wrong!r}")
    corpus = [clean(line.replace(_RESERVED, " ")) for line in lines]
    if not any(corpus):
        raise ValueError(f"nothing to learn from: {len(corpus)} lines, none of which has any text")
    return corpus
