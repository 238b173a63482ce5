"""How near a text is to what a model was trained on: by the pieces it is made of."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from core.files import whole_file

SHORTEST = 3
"""Pieces; of shorter texts nothing is said."""
USUAL = 0.99


class Familiarity(NamedTuple):
    """How often each piece came in training, and what is usual for a text."""

    counts: tuple[int, ...]
    """By piece, in the training texts."""
    limit: float
    """Bits a piece that 99 of 100 held-out texts stay within."""

    @classmethod
    def learn(cls, texts: Iterable[Sequence[int]], held_out: Iterable[Sequence[int]], *, size: int) -> "Familiarity":
        counter = Counter(id for text in texts for id in text)
        found = cls(tuple(counter[id] for id in range(size)), math.inf)
        bits = sorted(found.surprise(text) for text in held_out if len(text) >= SHORTEST)
        return found._replace(limit=bits[min(len(bits) - 1, int(USUAL * len(bits)))] if bits else math.inf)

    def surprise(self, text: Sequence[int]) -> float:
        """Bits a piece: the mean of -log2 of each piece's share of the training texts, with one added to each count."""
        total = sum(self.counts) + len(self.counts)
        return sum(math.log2(total / (self.counts[id] + 1)) for id in text) / max(1, len(text))

    def notice(self, text: Sequence[int]) -> str:
        """What to say of a text that is further off than nearly all held-out ones; nothing of any other."""
        bits = self.surprise(text)
        if len(text) < SHORTEST or bits <= self.limit:
            return ""
        return (
            f"far from the texts of the training: {bits:.1f} bits a piece, where 99 of 100 held-out texts have at most "
            f"{self.limit:.1f}"
        )

    def save(self, path: Path) -> None:
        with whole_file(path) as file:
            file.write(json.dumps({"limit": self.limit, "counts": self.counts}).encode())

    @classmethod
    def load(cls, path: Path, *, size: int) -> "Familiarity":
        """Raises ValueError for a file that `save` did not write, or that counts another number of pieces."""
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            found = cls(tuple(map(int, fields["counts"])), float(fields["limit"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is missing or damaged: {error}") from error
        if len(found.counts) != size:
            raise ValueError(f"{path} counts {len(found.counts)} pieces, but the vocabulary beside it has {size}")
        return found
