"""Transcripts in characters: small letters, digits and apostrophes, with a space between words."""

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from core.files import whole_file
from core.text import clean
from core.tokenizer import Tokenizer

APOSTROPHES = str.maketrans("’ʼ＇", "'''")


def spoken(text: str) -> str:
    """A transcript as it is trained on and scored: "Don't STOP, 3 times!" is "don't stop 3 times"."""
    line = clean(text).translate(APOSTROPHES).lower()
    kept = "".join(char if unicodedata.category(char)[0] in "LMN" or char == "'" else " " for char in line)
    words = (word.strip("'") for word in kept.split())
    return clean(" ".join(word for word in words if word))


class Characters:
    """A vocabulary of single characters. The id of padding is the blank of CTC as well."""

    PAD, UNKNOWN, START, END = Tokenizer.PAD, Tokenizer.UNKNOWN, Tokenizer.START, Tokenizer.END
    SPECIAL = 4

    def __init__(self, characters: Sequence[str]) -> None:
        self.characters = tuple(characters)
        self.ids = {char: number for number, char in enumerate(self.characters, start=self.SPECIAL)}

    @classmethod
    def learn(cls, transcripts: Iterable[str]) -> "Characters":
        return cls(sorted({char for line in transcripts for char in line} | {" "}))

    @property
    def size(self) -> int:
        return self.SPECIAL + len(self.characters)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.characters).encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        return [self.ids.get(char, self.UNKNOWN) for char in spoken(text)]

    def labels(self, ids: Iterable[int]) -> list[str]:
        """One for each id; a space can be seen."""
        return [{" ": "␣"}.get(char, char) for char in map(self.character, ids)]

    def decode(self, ids: Iterable[int]) -> str:
        return clean("".join(map(self.character, ids)))

    def character(self, id: int) -> str:
        if id < self.SPECIAL:
            return "\ufffd" if id == self.UNKNOWN else ""
        return self.characters[id - self.SPECIAL]

    def save(self, path: Path) -> None:
        with whole_file(path) as file:
            file.write(json.dumps(self.characters, ensure_ascii=False).encode())

    @classmethod
    def load(cls, path: Path) -> "Characters":
        """Raises ValueError, naming the file, where it is missing or damaged."""
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} is missing or damaged: {error}") from error
        if not isinstance(kept, list) or not all(isinstance(char, str) and len(char) == 1 for char in kept):
            raise ValueError(f"{path} is damaged: wanted a list of single characters")
        return cls(kept)
