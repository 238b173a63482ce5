"""Where texts with labels come from: public sets, files of one's own, and the built-in reviews."""

from typing import Any

from core.public import DataError, load_public
from tasks.classification import own, toy
from tasks.classification.data import ClassificationData
from tasks.classification.evidence import Deciding
from tasks.classification.examples import Labelled

NAMES = ("{}_original", "{}_text", "{}_name")
"""Columns in which public sets write the names of labels that are numbers."""


class PublicTexts(ClassificationData):
    """A set with a column of texts and one of labels, from the hub or a local folder of the same layout.

    `test` is the split that is scored; where its labels are secret, as in GLUE, that is the public validation split.
    Without a `validation` split texts of train are set apart, and a model is never chosen on what is scored. `whole`
    is for sets whose texts are there in parts too.
    """

    def __init__(
        self,
        *,
        path: str,
        text: str,
        label: str,
        test: str,
        validation: str | None = None,
        name: str | None = None,
        held_out: int = 1000,
        whole: bool = False,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        self.path, self.name, self.text, self.label = path, name, text, label
        self.named = {"train": "train", "validation": validation, "test": test}
        self.held_out, self.whole = held_out, whole

    def labelled(self) -> dict[str, list[Labelled]]:
        wanted = {split: name for split, name in self.named.items() if name}
        loaded = load_public(self.path, columns=(self.text, self.label), splits=tuple(wanted.values()), name=self.name)
        found = {split: self.rows(loaded[name]) for split, name in wanted.items()}
        return own.with_held_out(found, self.held_out, seed=self.seed, counts=self.counts, whole=self.whole)

    def rows(self, loaded: Any) -> list[Labelled]:
        """Raises DataError where the column of texts holds none."""
        kind = loaded.features[self.text]
        if getattr(kind, "dtype", None) not in ("string", "large_string"):
            raise DataError(f"data.path={self.path}: the column {self.text} holds {kind}, wanted text")
        return [Labelled(text or "", label) for text, label in zip(loaded[self.text], self.names(loaded), strict=True)]

    def names(self, loaded: Any) -> list[str]:
        """The name of each row's label: of a class, of the column of names beside it, or else the label itself. Below
        0 there is none."""
        kind, labels = loaded.features[self.label], loaded[self.label]
        if names := getattr(kind, "names", None):
            return ["" if label is None or label < 0 else names[label] for label in labels]
        beside = [each.format(self.label) for each in NAMES if each.format(self.label) in loaded.column_names]
        told = loaded[beside[0]] if beside else labels
        secret = [label is None or (isinstance(label, int) and label < 0) for label in labels]
        return ["" if hidden else str(each).strip() for each, hidden in zip(told, secret, strict=True)]


class OwnTexts(ClassificationData):
    """A tsv, csv or jsonl of one's own. Without a column `split`, texts are set apart for validation and test."""

    def __init__(self, *, path: str, text: str, label: str, held_out: int = 1000, **shared: Any) -> None:
        super().__init__(**shared)
        self.path, self.text, self.label, self.held_out = path, text, label, held_out

    def labelled(self) -> dict[str, list[Labelled]]:
        found = own.read_texts(self.path, self.text, self.label)
        return own.with_held_out(found, self.held_out, seed=self.seed, counts=self.counts)


class ToyTexts(ClassificationData):
    """The built-in reviews, in which the words that decide are known: so the maps can be right or wrong."""

    def __init__(self, **shared: Any) -> None:
        super().__init__(**shared)
        self.reviews: dict[str, list[toy.Review]] = {}

    def labelled(self) -> dict[str, list[Labelled]]:
        self.reviews = toy.reviews(seed=self.seed)
        return {split: [Labelled(each.text, each.label) for each in found] for split, found in self.reviews.items()}

    def deciding(self, split: str) -> list[Deciding]:
        return [Deciding(*each) for each in self.reviews[split]]
