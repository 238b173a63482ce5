"""Texts as characters or as pieces of lines: ids and back, with a label for each id that is what was typed."""

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from core.files import whole_file
from core.text import Tokenizer

LOST = "\ufffd"
"""What stands for an unknown character in generated text."""


def plain(text: str) -> str:
    """The text as it is trained on and read: accents composed (NFC), lines ended by \\n alone, no byte order mark, half
    a surrogate pair as U+FFFD."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", "".join(LOST if "\ud800" <= char <= "\udfff" else char for char in text))


class Characters:
    """One id a character, in the order of their code points."""

    PAD, UNKNOWN = 0, 1
    FILE = "characters.json"

    def __init__(self, characters: Iterable[str]) -> None:
        self.characters = sorted(set(characters))
        self.ids = {char: number for number, char in enumerate(self.characters, start=2)}
        self.size = len(self.characters) + 2
        self.digest = hashlib.sha256("".join(self.characters).encode()).hexdigest()

    @classmethod
    def learn(cls, text: str, *, min_count: int = 1) -> "Characters":
        """The characters that occur so often; the others share the unknown one."""
        return cls(char for char, count in Counter(text).items() if count >= min_count)

    def encode(self, text: str) -> list[int]:
        return [self.ids.get(char, self.UNKNOWN) for char in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.characters[id - 2] if id >= 2 else LOST for id in ids)

    def labels(self, text: str) -> list[str]:
        """What each id of `encode(text)` stands for, as it was typed."""
        return list(text)

    def save(self, folder: Path) -> None:
        with whole_file(folder / self.FILE) as file:
            file.write(json.dumps(self.characters, ensure_ascii=True).encode())

    @classmethod
    def load(cls, folder: Path) -> "Characters":
        """Raises ValueError for a file that is missing or no list of characters."""
        path = folder / cls.FILE
        try:
            kept = json.loads(path.read_bytes())
            if not isinstance(kept, list) or not all(isinstance(char, str) and len(char) == 1 for char in kept):
                raise TypeError("it is no list of single characters")
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(f"{path} is missing or damaged: {error}") from error
        return cls(kept)


class LinePieces:
    """Pieces learned from the text's lines (sentencepiece), and one id for the end of a line.

    Blanks inside a line become single spaces, and those at its ends are lost: so `core.text.clean` has it.
    """

    PAD, UNKNOWN, NEWLINE = Tokenizer.PAD, Tokenizer.UNKNOWN, Tokenizer.END
    FILE = "tokenizer.model"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.size, self.digest = tokenizer.size, tokenizer.digest

    @classmethod
    def learn(cls, text: str, *, pieces: int) -> "LinePieces":
        return cls(Tokenizer.train(text.split("\n"), size=pieces))

    def encode(self, text: str) -> list[int]:
        return self.joined([self.tokenizer.encode(line) for line in text.split("\n")], self.NEWLINE)

    def labels(self, text: str) -> list[str]:
        return self.joined([self.tokenizer.pieces(line).labels for line in text.split("\n")], "\n")

    @staticmethod
    def joined(lines: Sequence[list], end) -> list:
        return [each for number, line in enumerate(lines) for each in ([end] if number else []) + line]

    def decode(self, ids: Sequence[int]) -> str:
        lines: list[list[int]] = [[]]
        for id in ids:
            if id == self.NEWLINE:
                lines.append([])
            else:
                lines[-1].append(id)
        return "\n".join(self.tokenizer.decode(line) for line in lines)

    def save(self, folder: Path) -> None:
        self.tokenizer.save(folder / self.FILE)

    @classmethod
    def load(cls, folder: Path) -> "LinePieces":
        return cls(Tokenizer.load(folder / cls.FILE))


Vocabulary = Characters | LinePieces
"""Ids of a text, and the text of ids. A text may have many lines; the end of one is an id like any other."""


def following(vocabulary: Vocabulary, before: Sequence[int], ids: Sequence[int]) -> str:
    """The text of `ids` where they come after others: a piece that begins a word brings its space."""
    return vocabulary.decode([*before, *ids])[len(vocabulary.decode(before)) :]
