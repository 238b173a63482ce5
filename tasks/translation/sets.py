"""Where sentence pairs come from: the hub, a folder in its layout, files of one's own, and the built-in set."""

from collections.abc import Sequence
from typing import Any

from core.held_out import SPLITS
from core.public import DataError, load_public
from core.text import clean
from tasks.translation import own, toy
from tasks.translation.data import Pair, TranslationData, Truth
from tasks.translation.links import Linked, Row, facing, place, read_links


class PublicTranslation(TranslationData):
    """A set with a column a language and the splits train, validation and test, such as Multi30k: from the hub or a
    local folder of the same layout. `links` is a file of true word links on its test split, or on other text."""

    def __init__(self, *, path: str, links: str | None = None, **shared: Any) -> None:
        super().__init__(**shared)
        self.path, self.links = path, links
        self.linked: list[Linked] = []

    def pairs(self) -> dict[str, list[Pair]]:
        loaded = load_public(self.path, columns=(self.source, self.target), splits=SPLITS)
        for column in (self.source, self.target):
            kind = loaded["train"].features[column]
            if getattr(kind, "dtype", None) not in ("string", "large_string"):
                raise DataError(f"data.path={self.path}: the column {column} holds {kind}, wanted text")
        pairs = {split: pairs_of(loaded[split][self.source], loaded[split][self.target]) for split in SPLITS}
        if self.links:
            self.linked = self.placed(read_links(self.links), pairs)
        return pairs

    def placed(self, rows: Sequence[Row], pairs: dict[str, list[Pair]]) -> list[Linked]:
        """The rows of links whose words are those of their sentences; how many there are is counted."""
        test = [Pair(clean(source), clean(target)) for source, target in pairs["test"]]
        found = [place(row, test) for row in facing(rows, pairs["train"])]
        placed = [linked for linked in found if linked]
        self.counts["links.rows"], self.counts["links.placed"] = len(rows), len(placed)
        if len(placed) < 2:
            raise DataError(
                f"data.links={self.links}: of {len(rows)} rows {len(placed)} have the words of their line in the test "
                f"split of {self.path}, {self.source} and {self.target}: they are of other sentences or languages"
            )
        return placed

    def truth(self, validation: int, test: int) -> Truth | None:
        if not self.linked:
            return None
        halves = in_halves(self.linked)
        return Truth(*halves, f"the {len(halves[0]):,} linked pairs of every other sentence")

    def report(self) -> list[str]:
        links = (
            f"links: {self.counts['links.placed']:,} of {self.counts['links.rows']:,} rows placed on their sentences"
        )
        return [*super().report(), *([links] if self.linked else [])]


def in_halves(linked: Sequence[Linked]) -> tuple[list[Linked], list[Linked]]:
    """Every other sentence with all its links, and the others: no sentence is in both."""
    numbers = {source: number for number, source in enumerate(dict.fromkeys(each.source for each in linked))}
    halves: tuple[list[Linked], list[Linked]] = [], []
    for each in linked:
        halves[numbers[each.source] % 2].append(each)
    return halves


class HubTranslation(TranslationData):
    """A set in the commonest layout of translation sets: one column `translation` that holds a text a language."""

    def __init__(self, *, path: str, name: str | None = None, held_out: int = 1000, **shared: Any) -> None:
        super().__init__(**shared)
        self.path, self.name, self.held_out = path, name, held_out

    def pairs(self) -> dict[str, list[Pair]]:
        loaded = load_public(self.path, columns=("translation",), splits=("train",), name=self.name)
        pairs = {}
        for split in [split for split in SPLITS if split in loaded]:
            rows: Any = loaded[split]["translation"]
            pairs[split] = pairs_of(*(self.side(rows, language) for language in (self.source, self.target)))
        return own.with_held_out(pairs, self.held_out, seed=self.seed, counts=self.counts)

    def side(self, rows: Sequence[dict[str, str | None]], language: str) -> list[str | None]:
        languages = sorted(rows[0]) if len(rows) else []
        if language not in languages:
            raise DataError(f"data.path={self.path}: found the languages {languages}, wanted {language}")
        return [row[language] for row in rows]


class ParallelTranslation(TranslationData):
    """Sentence pairs from files of one's own: two line-aligned ones, or a tsv, csv or jsonl with both sides.

    Where there is no file for validation or test, `held_out` pairs of the training file are set apart for each.
    """

    def __init__(
        self,
        *,
        path: str,
        target_path: str | None = None,
        validation_path: str | None = None,
        validation_target_path: str | None = None,
        test_path: str | None = None,
        test_target_path: str | None = None,
        held_out: int = 1000,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        self.held_out = held_out
        self.files = {
            "train": (path, target_path),
            "validation": (validation_path, validation_target_path),
            "test": (test_path, test_target_path),
        }
        for split, (first, second) in self.files.items():
            if second and not first:
                raise ValueError(f"{split}_target_path={second} is one side of a pair: {split}_path is missing")

    def pairs(self) -> dict[str, list[Pair]]:
        pairs = {
            split: [Pair(*pair) for pair in own.read_pairs(path, target_path, self.source, self.target)]
            for split, (path, target_path) in self.files.items()
            if path
        }
        return own.with_held_out(pairs, self.held_out, seed=self.seed, counts=self.counts)


class ToyTranslation(TranslationData):
    """The built-in German and English sentences, whose true alignment is known: so the maps can be right or wrong."""

    def __init__(self, *, pieces: int, tokens_per_batch: int, max_length: int, seed: int = 0) -> None:
        super().__init__(
            source="de",
            target="en",
            pieces=pieces,
            tokens_per_batch=tokens_per_batch,
            max_length=max_length,
            seed=seed,
        )
        self.toys: dict[str, list[toy.Pair]] = {}

    def pairs(self) -> dict[str, list[Pair]]:
        self.toys = toy.pairs(seed=self.seed)
        return {split: [Pair(each.source, each.target) for each in found] for split, found in self.toys.items()}

    def truth(self, validation: int, test: int) -> Truth | None:
        choosing, scoring = self.toys["validation"][:validation], self.toys["test"][:test]
        return Truth([linked_toy(each) for each in choosing], [linked_toy(each) for each in scoring], "validation")


def pairs_of(sources: Sequence[str | None], targets: Sequence[str | None]) -> list[Pair]:
    return [Pair(source or "", target or "") for source, target in zip(sources, targets, strict=True)]


def linked_toy(pair: toy.Pair) -> Linked:
    source, target = toy.words(pair.source), toy.words(pair.target)
    words = (
        [text[start:end] for start, end in spans] for text, spans in ((pair.source, source), (pair.target, target))
    )
    row = Row(*words, sure=list(pair.links), possible=[], phrases=[], complete=True, line=None)
    return Linked(pair.source, pair.target, source, target, row)
