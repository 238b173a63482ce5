"""Texts with labels to batches, and what a model says back to the names of labels, whatever set they are from
(`sets.py`)."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from jaxtyping import Float
from numpy import ndarray

from core.data import DemoData, Looks, MapScores
from core.demo import Prediction
from core.maps import AttentionMap
from core.metrics import Score
from core.public import DataError
from core.text import places_of
from tasks.classification import evidence
from tasks.classification.examples import UNLABELLED, Batch, Example, Labelled, batched
from tasks.classification.model import LEAVE_ONE_OUT, Judged
from tasks.classification.report import report
from tasks.classification.scores import confusion, label_scores
from tasks.classification.words import Told, Vocabulary

ALARM_TEXTS = 100
"""How many texts whose deciding words are known tell whether the gaze is on them, in the middle of a training."""
SHORTEST_ROW = 4
"""Words that a row of a batch counts at least: short texts have their costs too."""


class ClassificationData(DemoData):
    """Texts through one vocabulary of words, and the names of their labels."""

    score_name = "accuracy"

    def __init__(
        self, *, buckets: int, tokens_per_batch: int, max_length: int, min_count: int = 1, seed: int = 0
    ) -> None:
        super().__init__(tokens_per_batch=tokens_per_batch, seed=seed)
        if max_length < 1 or min_count < 1:
            raise ValueError(f"max_length and min_count are at least 1; got {max_length} and {min_count}")
        self.buckets, self.max_length, self.min_count = buckets, max_length, min_count
        self._words: Vocabulary | None = None

    @abstractmethod
    def labelled(self) -> dict[str, list[Labelled]]:
        """The texts of train, validation and test, with the names of their labels."""

    @property
    def words(self) -> Vocabulary:
        """The vocabulary: learned by `load` from the training texts, unless `restore` read it from a run before."""
        assert self._words is not None, "load() or restore() comes first"
        return self._words

    @property
    def vocabulary(self) -> int:
        return self.words.size

    @property
    def supplies(self) -> dict[str, int]:
        return super().supplies | {"labels": len(self.words.labels)}

    def load(self) -> None:
        labelled = {split: self.usable(split, found) for split, found in self.labelled().items()}
        for split, found in labelled.items():
            if not found:
                raise DataError(f"the {split} split has no text with a label")
        train = labelled["train"]
        labels = sorted({each.label for each in train})
        if len(labels) < 2:
            raise DataError(f"there is nothing to tell apart: every training text has the label {labels[0]!r}")
        if self._words is None:
            texts = [Told.of(each.text).lowered for each in train]
            self._words = Vocabulary.learn(texts, labels, min_count=self.min_count, buckets=self.buckets)
        self.check_labels(labelled)
        self.splits = {split: [self.example(*each) for each in found] for split, found in labelled.items()}
        self.look_back(labelled)

    def usable(self, split: str, found: Sequence[Labelled]) -> list[Labelled]:
        """The texts that have a word and a label; the others are counted."""
        kept = [each for each in found if each.label and Told.of(each.text).spans]
        self.counts[f"{split}.texts"] = len(kept)
        self.counts[f"{split}.without_words"] = sum(not Told.of(each.text).spans for each in found)
        self.counts[f"{split}.without_label"] = len(found) - len(kept) - self.counts[f"{split}.without_words"]
        return kept

    def check_labels(self, labelled: dict[str, list[Labelled]]) -> None:
        """Raises DataError for a label that training does not know."""
        for split, found in labelled.items():
            strange = sorted({each.label for each in found} - set(self.words.labels))
            if strange:
                raise DataError(
                    f"the {split} split has labels that the training texts do not have: {', '.join(strange[:5])}; "
                    f"those have: {', '.join(self.words.labels)}"
                )

    def look_back(self, labelled: dict[str, list[Labelled]]) -> None:
        """Counts what a reader should know of the data before the training."""
        known = {each.text.strip() for each in labelled["train"]}
        for split in ("validation", "test"):
            self.counts[f"{split}.also_in_train"] = sum(each.text.strip() in known for each in labelled[split])
        read = [word for example in self.splits["validation"] for word in example.words]
        self.counts["validation.words"] = len(read)
        self.counts["validation.unknown_words"] = sum(self.words.id(word) == Vocabulary.UNKNOWN for word in read)

    def example(self, text: str, label: str = "") -> Example:
        told = Told.of(text)
        self.counts["cut_to_max_length"] += len(told.spans) > self.max_length
        number = self.words.labels.index(label) if label else UNLABELLED
        return Example(told, tuple(told.surfaces[: self.max_length]), number, truth=label)

    def report(self) -> list[str]:
        return report(self.counts, self.splits, self.words, self.max_length)

    def read(self, inputs: Sequence[str]) -> list[Example]:
        return [self.example(line) for line in inputs]

    def size(self, example: Example) -> int:
        return max(SHORTEST_ROW, len(example.words)) if example.words else 0

    def collate(self, examples: Sequence[Example]) -> Batch:
        return batched(examples, self.words)

    def predictions(self, examples: Sequence[Example], generated: Sequence[Judged | None]) -> list[Prediction]:
        return [self.prediction(example, judged) for example, judged in zip(examples, generated, strict=True)]

    def prediction(self, example: Example, judged: Judged | None) -> Prediction:
        if judged is None:
            return Prediction(example.told.text, "", None, ("nothing to classify: the input is empty",))
        name = self.words.labels[judged.label]
        return Prediction(example.told.text, name, judged.log_probabilities[judged.label], self.notices(example))

    def notices(self, example: Example) -> tuple[str, ...]:
        """What a reader should know of an input."""
        notices = []
        if unknown := [word for word in example.words if self.words.id(word) == Vocabulary.UNKNOWN]:
            notices.append(f"never seen in training, read by their parts: {' '.join(dict.fromkeys(unknown))}")
        if len(example.told.spans) > self.max_length:
            notices.append(f"the input has {len(example.told.spans)} words; the first {self.max_length} were kept")
        return tuple(notices)

    def scores(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Score]:
        return label_scores([example.truth for example in examples], predictions, self.words.labels)

    def draw(self, examples: Sequence[Example], predictions: Sequence[Prediction], folder: Path) -> None:
        from core.maps.confusion import draw_confusion

        counts = confusion([example.truth for example in examples], predictions, self.words.labels)
        draw_confusion(counts, self.words.labels, folder / "confusion.png")

    def forced(self, examples: Sequence[Example], generated: Sequence[Judged | None]) -> list[Example]:
        return [
            example._replace(label=judged.label if judged else UNLABELLED)
            for example, judged in zip(examples, generated, strict=True)
        ]

    def maps(self, example: Example, weights: dict[str, Float[ndarray, "... Q K"]]) -> list[AttentionMap]:
        """A map a module: one row, the label, over the words."""
        label = self.words.labels[example.label] if example.label != UNLABELLED else ""
        more = {"reference": example.truth, "notice": "; ".join(self.notices(example))}
        texts = {"source": example.told.text, "prediction": label} | {kind: text for kind, text in more.items() if text}
        origin = {"task": "classification", "rows": "label", "columns": "words"}
        return [
            AttentionMap(
                weights=array[..., : len(example.words)],
                queries=[label],
                keys=list(example.words),
                name=name,
                text=texts,
                origin=origin | ({"beside": "the gaze"} if name == LEAVE_ONE_OUT else {}),
            )
            for name, array in weights.items()
        ]

    def keys_of(self, example: Example, word: str) -> list[int]:
        """The places of this word; capitals count only where it occurs as it is written."""
        same = places_of(example.words, word)
        if not same:
            raise ValueError(f"{word!r} is no word of {example.told.text!r}; its words are: {', '.join(example.words)}")
        return same

    def without(self, example: Example, keys: Sequence[int]) -> Example:
        """Nothing in the place of these words."""
        return example._replace(blank=tuple(sorted({*example.blank, *keys})))

    def deciding(self, split: str) -> list[evidence.Deciding]:
        """Which words of the texts of a split decide, where the data know."""
        return []

    def map_scores(self, looks: Looks, validation: Sequence[Example], test: Sequence[Example]) -> MapScores:
        known = self.deciding("test")[: len(test)]
        return evidence.scores(known, looks.maps([self.example(each.text, each.label) for each in known]))

    def not_aligning(self, maps: Callable[[Sequence[Example]], Iterator[list[AttentionMap]]]) -> str | None:
        known = self.deciding("validation")[:ALARM_TEXTS]
        return evidence.not_on_words(known, maps([self.example(each.text, each.label) for each in known]))

    def save(self, folder: Path) -> None:
        self.words.save(folder / "vocabulary.json")

    def restore(self, folder: Path) -> None:
        self._words = Vocabulary.load(folder / "vocabulary.json")

    def fingerprint(self) -> dict[str, str]:
        return {"vocabulary": self.words.digest}
