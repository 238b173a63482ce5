"""Words as a model reads them: a number for each word that training knows, and hashed parts of every word."""

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from core.files import whole_file
from core.text import clean, words

SHORTEST, LONGEST = 3, 5
"""Characters of the parts of a word."""
MOST = 24
"""How many parts of one word are read at most."""
SHAPES = 6
"""How many numbers `shape` may give, with 0 for no word."""


def shape(word: str) -> int:
    """How a word is written: 1 in small letters or a script without capitals, 2 with one capital, 3 with more, 4 with a
    digit, 5 without letters and digits. So "it" and "IT" are not the same, though they share their vectors."""
    if any(map(str.isdigit, word)):
        return 4
    if not any(map(str.isalpha, word)):
        return 5
    return 1 + min(2, sum(map(str.isupper, word)))


class Told(NamedTuple):
    """A text in words."""

    text: str
    spans: list[tuple[int, int]]
    """Where each word stands in the text."""

    @classmethod
    def of(cls, text: str) -> "Told":
        text = clean(text)
        return cls(text, words(text))

    @property
    def surfaces(self) -> list[str]:
        """The words as they are written."""
        return [self.text[start:end] for start, end in self.spans]

    @property
    def lowered(self) -> tuple[str, ...]:
        """The words in small letters."""
        return tuple(word.lower() for word in self.surfaces)


class Vocabulary:
    """The words and the labels that training knows. Capitals make no difference to it, see `shape`.

    Beside its own number every word has those of its parts, also a word never seen: its runs of 3 to 5 characters with
    marks at both ends, hashed into `buckets` numbers (Bojanowski et al. 2017). 0 is no word and no part.
    """

    NOTHING, UNKNOWN = 0, 1
    FIRST = 2

    def __init__(self, words: Sequence[str], labels: Sequence[str], *, buckets: int) -> None:
        if buckets < 1:
            raise ValueError(f"buckets must be at least 1; got {buckets}")
        self.words, self.labels, self.buckets = tuple(words), tuple(labels), buckets
        self.ids = {word: number for number, word in enumerate(self.words, start=self.FIRST)}
        self.parts = lru_cache(maxsize=2**17)(self._parts)

    @classmethod
    def learn(
        cls, texts: Iterable[Sequence[str]], labels: Sequence[str], *, min_count: int, buckets: int
    ) -> "Vocabulary":
        """Of the words that occur `min_count` times, the most frequent first."""
        counts = Counter(word for text in texts for word in text)
        known = sorted((word for word, count in counts.items() if count >= min_count), key=lambda w: (-counts[w], w))
        return cls(known, labels, buckets=buckets)

    @property
    def size(self) -> int:
        return self.FIRST + len(self.words)

    @property
    def digest(self) -> str:
        return hashlib.sha256(self._bytes()).hexdigest()

    def id(self, word: str) -> int:
        return self.ids.get(word.lower(), self.UNKNOWN)

    def _parts(self, word: str) -> tuple[int, ...]:
        """Numbers from 1 to `buckets`."""
        marked = f"<{word.lower()}>"
        runs = [
            marked[start : start + length]
            for length in range(SHORTEST, LONGEST + 1)
            for start in range(len(marked) - length + 1)
        ]
        return tuple(1 + zlib.crc32(run.encode()) % self.buckets for run in runs[:MOST]) or (self.NOTHING,)

    def save(self, path: Path) -> None:
        with whole_file(path) as file:
            file.write(self._bytes())

    def _bytes(self) -> bytes:
        content = {"labels": self.labels, "buckets": self.buckets, "words": self.words}
        return json.dumps(content, ensure_ascii=False, indent=0).encode()

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Raises ValueError for a file that `save` did not write."""
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            words, labels = ([str(each) for each in fields[name]] for name in ("words", "labels"))
            return cls(words, labels, buckets=int(fields["buckets"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is missing or damaged: {error}") from error
