"""The words that a model knows by name, and in how many documents of the training each one was."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from core.files import whole_file

PAD, UNKNOWN = 0, 1
MARKS = 2
COMMON = 0.2
"""A word in more than this share of the training's documents says little of any one of them."""


class Vocabulary:
    """Words by number, the most frequent first; how rare each is, also one that was never seen."""

    def __init__(self, documents: int, counts: Sequence[tuple[str, int]]) -> None:
        """`counts` says of each word how many of the `documents` have it."""
        self.documents, self.counts = documents, dict(counts)
        self.numbers = {word: number for number, word in enumerate(self.counts, start=MARKS)}

    @classmethod
    def learn(cls, documents: Iterable[Iterable[str]], *, size: int) -> "Vocabulary":
        """From the words of each document; of equally frequent ones the first in the alphabet is kept."""
        counter: Counter[str] = Counter()
        total = 0
        for total, each in enumerate(documents, start=1):  # noqa: B007
            counter.update(set(each))
        ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
        return cls(total, ordered[: max(0, size - MARKS)])

    @property
    def size(self) -> int:
        return len(self.counts) + MARKS

    @property
    def digest(self) -> str:
        return hashlib.sha256(self._text()).hexdigest()

    def number(self, word: str) -> int:
        return self.numbers.get(word, UNKNOWN)

    def rarity(self, word: str) -> float:
        """From 0, in every document of the training, to 1, in none: the inverse document frequency (Sparck Jones
        1972), as a share of the largest there is."""
        most = math.log(self.documents + 1)
        return math.log((self.documents + 1) / (self.counts.get(word, 0) + 1)) / most if most else 1.0

    def common(self, word: str) -> bool:
        return self.counts.get(word, 0) > COMMON * self.documents

    def save(self, path: Path) -> None:
        with whole_file(path) as file:
            file.write(self._text())

    def _text(self) -> bytes:
        content = {"documents": self.documents, "counts": list(self.counts.items())}
        return json.dumps(content, ensure_ascii=False).encode()

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Raises ValueError for a file that `save` did not write."""
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            return cls(int(fields["documents"]), [(str(word), int(count)) for word, count in fields["counts"]])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is missing or damaged: {error}") from error
