"""Words as a model reads them: in pieces and in characters; and how rare each is."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Int

from core.files import whole_file
from core.sentences import Span
from core.text import Tokenizer, words

PIECES, CHARACTERS = 4, 12
"""Of a word, at most; of a longer one the first."""
ALPHABET = 512
"""Characters have the number of their code point; from here on several share one."""
NUMBERS = "words.json"
HIDDEN = "\ufffd"
"""A word that says nothing: it stands where something was taken away."""


class Lexicon:
    """The pieces of every word, and how many training passages have it (none, of some words of questions).

    A word is a run of letters and digits, or one sign. Pieces never cross from one word into the next, so every piece
    and every label has its place in the text.
    """

    def __init__(self, tokenizer: Tokenizer, passages: int, counts: dict[str, int]) -> None:
        self.tokenizer, self.passages, self.counts = tokenizer, passages, counts
        self.known: dict[str, int] = {}
        self.rows: list[tuple[list[int], list[int]]] = []
        self.rarities: dict[str, float] = {}
        self.number(HIDDEN)

    @classmethod
    def learn(cls, passages: Iterable[str], questions: Iterable[str], *, pieces: int) -> "Lexicon":
        passages, questions = list(dict.fromkeys(passages)), list(questions)
        lines = [" ".join(split(text)) for text in (*passages, *questions)]
        counts = Counter(word for text in passages for word in {each.casefold() for each in split(text)})
        asked = {word.casefold(): 0 for text in questions for word in split(text)}
        return cls(Tokenizer.train(lines, size=pieces), len(passages), asked | counts)

    @property
    def size(self) -> int:
        return self.tokenizer.size

    def number(self, word: str) -> int:
        """A number for a word, of this process alone: a row of `table`."""
        if word not in self.known:
            self.known[word] = len(self.rows)
            hidden = word == HIDDEN
            ids = [Tokenizer.UNKNOWN] if hidden else self.tokenizer.encode(word)[:PIECES] or [Tokenizer.UNKNOWN]
            characters = [] if hidden else [1 + ord(char) % (ALPHABET - 1) for char in word[:CHARACTERS]]
            self.rows.append((ids, characters))
        return self.known[word]

    def table(self, numbers: Sequence[int]) -> tuple[Int[np.ndarray, "U N"], Int[np.ndarray, "U L"]]:
        """Pieces and characters of these words, padded with zeros."""
        pieces = np.zeros((len(numbers), PIECES), dtype=np.int64)
        characters = np.zeros((len(numbers), CHARACTERS), dtype=np.int64)
        for row, number in enumerate(numbers):
            ids, chars = self.rows[number]
            pieces[row, : len(ids)] = ids
            characters[row, : len(chars)] = chars
        return pieces, characters

    def rarity(self, word: str) -> float:
        """From 0, a word that every passage has, to 1, one that none has (Spärck Jones 1972)."""
        if word not in self.rarities:
            ratio = (self.passages + 1) / (self.counts.get(word, 0) + 1)
            self.rarities[word] = math.log(ratio) / math.log(self.passages + 1)
        return self.rarities[word]

    def never_seen(self, found: Iterable[str]) -> list[str]:
        """The words that no training text has, each once."""
        return [word for word in dict.fromkeys(found) if word.casefold() not in self.counts and word[:1].isalnum()]

    def digest(self) -> str:
        """Of all that the weights only make sense with."""
        counted = json.dumps([self.passages, sorted(self.counts.items())], ensure_ascii=False)
        return hashlib.sha256((self.tokenizer.digest + counted).encode()).hexdigest()[:16]

    def save(self, folder: Path, *, always: bool) -> None:
        """`always` says whether every training question had an answer."""
        self.tokenizer.save(folder / "tokenizer.model")
        kept = {"passages": self.passages, "always": always, "counts": self.counts}
        with whole_file(folder / NUMBERS) as file:
            file.write(json.dumps(kept, ensure_ascii=False).encode("utf-8", "replace"))

    @classmethod
    def load(cls, folder: Path) -> tuple["Lexicon", bool]:
        """Raises ValueError for files that `save` did not write."""
        path = folder / NUMBERS
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            passages, counts = int(kept["passages"]), {str(word): int(n) for word, n in kept["counts"].items()}
            always = bool(kept["always"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} is missing or damaged: {error}") from error
        return cls(Tokenizer.load(folder / "tokenizer.model"), passages, counts), always


@lru_cache(maxsize=50_000)
def spans_of(text: str) -> list[Span]:
    """Where the words of a text stand in it. Many questions are about one passage, so it is kept; not to be changed."""
    return words(text)


def split(text: str) -> list[str]:
    """A text in words."""
    return [text[start:end] for start, end in spans_of(text)]
