"""Questions about passages to batches, and spans back to answers, whatever set they are from (`sets.py`)."""

import random
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from core.data import DemoData, Looks, MapScores
from core.demo import Prediction
from core.files import whole_file
from core.maps import AttentionMap
from core.metrics import Score
from core.public import DataError
from core.sentences import Span
from core.tables import text_of
from tasks.qa import evidence, labels
from tasks.qa.answers import Question, covering, exact, placed
from tasks.qa.batch import Batch, Found, Rows, batch_of
from tasks.qa.features import FEATURES, features
from tasks.qa.lexicon import HIDDEN, Lexicon, spans_of
from tasks.qa.scores import answer_scores
from tasks.qa.sentences import numbers
from tasks.qa.windows import check_windows, holding, inside, windows

BLIND = "?"
"""What a model reads that is not to see the question."""


class Text(NamedTuple):
    """A text as it was given, and its words: where they stand in it, and as numbers of the lexicon."""

    text: str
    spans: list[Span]
    numbers: Int[ndarray, " T"]
    features: Float[ndarray, "T F"]

    def words(self) -> list[str]:
        return [self.text[start:end] for start, end in self.spans]


class Example(NamedTuple):
    """A question about a passage, which is read in windows of words."""

    passage: Text
    question: Text
    windows: list[Span]
    answer: Span | None
    """First and last word of the answer; None where there is none."""
    focus: int
    """The window that holds the answer, or the first one."""
    answers: tuple[str, ...] = ()
    """All that count as right."""
    places: tuple[Span, ...] = ()
    """Where they stand in the passage, in characters."""
    asked: int = 0
    """How many words the question had before it was cut."""


class QuestionData(DemoData):
    """Questions whose answers are spans of a passage, through one lexicon."""

    score_name = "f1"
    asks = ("passage", "question")

    def __init__(
        self,
        *,
        pieces: int,
        tokens_per_batch: int,
        window: int,
        stride: int,
        longest_question: int,
        share: float = 1.0,
        blind: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(tokens_per_batch=tokens_per_batch, seed=seed)
        check_windows(window, stride)
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share is the part of the training questions to learn from, above 0 up to 1; got {share}")
        if longest_question < 1:
            raise ValueError(f"longest_question must be at least 1 word; got {longest_question}")
        self.pieces, self.window, self.stride, self.longest_question = pieces, window, stride, longest_question
        self.share, self.blind = share, blind
        self.always = False
        """Whether every training question had an answer: then each gets one."""
        self._lexicon: Lexicon | None = None

    @abstractmethod
    def questions(self) -> dict[str, list[Question]]:
        """The questions of train, validation and test."""

    @property
    def lexicon(self) -> Lexicon:
        assert self._lexicon is not None, "load() or restore() comes first"
        return self._lexicon

    @property
    def vocabulary(self) -> int:
        return self.lexicon.size

    def load(self) -> None:
        questions = {split: self.usable(split, found) for split, found in self.questions().items()}
        questions["train"] = self.shared(questions["train"])
        if self._lexicon is None:
            train = questions["train"]
            if not train:
                raise DataError("there is no train split to learn words from; evaluate.py takes a set without one")
            self._lexicon = Lexicon.learn((q.passage for q in train), (q.question for q in train), pieces=self.pieces)
            self.always = all(question.answers for question in train)
        for split, found in questions.items():
            self.splits[split] = [self.example(question, split) for question in found]
            self.counts[f"{split}.questions"] = len(found)
        self.splits["train"] = [row for example in self.splits["train"] for row in self.rows(example)]
        self.counts["train.rows"] = len(self.splits["train"])
        for split in ("validation", "test"):
            known = {(question.passage, question.question) for question in questions["train"]}
            self.counts[f"{split}.also_in_train"] = sum((q.passage, q.question) in known for q in questions[split])

    def usable(self, split: str, questions: Sequence[Question]) -> list[Question]:
        """Those with a passage and a question that have words; the others are counted."""
        kept = [question for question in questions if spans_of(question.passage) and spans_of(question.question)]
        self.counts[f"{split}.read"], self.counts[f"{split}.dropped_empty"] = len(questions), len(questions) - len(kept)
        return kept

    def shared(self, train: list[Question]) -> list[Question]:
        """The part of the training questions that is learned from."""
        if self.share == 1.0:
            return train
        return random.Random(self.seed).sample(train, max(1, round(self.share * len(train))))

    def report(self) -> list[str]:
        return labels.report(self.counts, self.splits, self.lexicon, window=self.window, stride=self.stride)

    def text(self, text: str, other: Sequence[str], *, longest: int | None = None) -> Text:
        """A text in words, beside the words of the other one."""
        spans = spans_of(text)[:longest]
        own = [text[start:end] for start, end in spans]
        numbered = np.array([self.lexicon.number(word) for word in own], dtype=np.int64)
        of_sentence = numbers(spans, text)
        return Text(text, spans, numbered, features(own, other, of_sentence, self.lexicon.rarity))

    def example(self, question: Question, split: str = "inputs") -> Example:
        asked = BLIND if self.blind else question.question
        spans = spans_of(asked)
        self.counts[f"{split}.questions_cut"] += len(spans) > self.longest_question
        told = [asked[start:end] for start, end in spans[: self.longest_question]]
        passage = self.text(question.passage, told)
        example = Example(
            passage=passage,
            question=self.text(asked, passage.words(), longest=self.longest_question),
            windows=windows(len(passage.spans), window=self.window, stride=self.stride),
            answer=None,
            focus=0,
            answers=question.answers,
            places=tuple(placed(question, self.counts, split)),
            asked=len(spans),
        )
        return self.labelled(example, split)

    def labelled(self, example: Example, split: str) -> Example:
        """The example with the words of its first answer as the label. What words do not fit exactly is counted."""
        self.counts[f"{split}.unanswerable"] += not example.answers
        self.counts[f"{split}.windows"] += len(example.windows)
        span = next(iter(example.places), None)
        label = covering(span, example.passage.spans) if span else None
        if span is None or label is None:
            self.counts[f"{split}.without_label"] += bool(example.answers)
            return example
        self.counts[f"{split}.approximate"] += not exact(label, span, example.passage.spans, example.passage.text)
        focus = holding(label, example.windows)
        self.counts[f"{split}.longer_than_a_window"] += inside(label, example.windows[focus]) is None
        return example._replace(answer=label, focus=focus)

    def rows(self, example: Example) -> list[Example]:
        """What is learned from an example: each window by itself; nothing where an answer has no place, or is longer
        than a window."""
        fits = inside(example.answer, example.windows[example.focus]) is not None
        if example.answers and not fits:
            return []
        return [example._replace(windows=[window], focus=0) for window in example.windows]

    def read(self, inputs: Sequence[tuple[str, str]]) -> list[Example]:
        """A passage may be the path of a text file."""
        return [self.example(Question(text_of(passage), question)) for passage, question in inputs]

    def size(self, example: Example) -> int:
        if not example.passage.spans or not example.question.spans:
            return 0
        return sum(end - start for start, end in example.windows)

    def collate(self, examples: Sequence[Example]) -> Batch:
        rows = [
            Rows(
                passages=[example.passage.numbers[slice(*window)] for window in example.windows],
                passage_features=[example.passage.features[slice(*window)] for window in example.windows],
                question=example.question.numbers,
                question_features=example.question.features,
                labels=[inside(example.answer, window) for window in example.windows],
                focus=example.focus,
            )
            for example in examples
        ]
        return batch_of(rows, self.lexicon)

    def predictions(self, examples: Sequence[Example], generated: Sequence[Found | None]) -> list[Prediction]:
        return [self.prediction(example, found) for example, found in zip(examples, generated, strict=True)]

    def prediction(self, example: Example, found: Found | None) -> Prediction:
        told = example.question.text
        if found is None:
            empty = "passage" if not example.passage.spans else "question"
            return Prediction(told, "", None, (f"nothing to look for: the {empty} is empty",))
        notices = self.notices(example)
        if not self.always and found.none > found.log_probability:
            return Prediction(told, "", found.none / 2, (*notices, "no answer found in the passage"))
        return Prediction(told, self.said(example, found), found.log_probability / 2, notices)

    def said(self, example: Example, found: Found) -> str:
        """The answer, as it stands in the passage."""
        first, last = self.place(example, found)
        return example.passage.text[example.passage.spans[first][0] : example.passage.spans[last][1]]

    def place(self, example: Example, found: Found) -> Span:
        offset = example.windows[found.window][0]
        return offset + found.start, offset + found.end

    def notices(self, example: Example) -> tuple[str, ...]:
        return labels.notices(example, self.lexicon, window=self.window)

    def scores(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Score]:
        return answer_scores([each.output for each in predictions], [example.answers for example in examples])

    def forced(self, examples: Sequence[Example], generated: Sequence[Found | None]) -> list[Example]:
        """With the answer that was found as the label, in the one window that it was found in."""
        return [
            example
            if found is None
            else example._replace(
                windows=[example.windows[found.window]],
                focus=0,
                answer=None if not self.always and found.none > found.log_probability else self.place(example, found),
            )
            for example, found in zip(examples, generated, strict=True)
        ]

    def maps(self, example: Example, weights: dict[str, Float[ndarray, "*H Q K"]]) -> list[AttentionMap]:
        return labels.maps(example, weights, self.notices(example))

    def keys_of(self, example: Example, word: str) -> list[int]:
        """The words of the passage that are this one; capitals count only where it occurs as it is written."""
        return labels.keys_of(example, word)

    def forbidden(self, example: Example, words: Sequence[str], explains: Sequence[str]) -> dict[str, list[int]]:
        return labels.forbidden(example, words)

    def sample(self, example: Example, folder: Path) -> list[str]:
        """The passage goes to a file of the run's folder."""
        path = folder / "passage.txt"
        with whole_file(path) as file:
            file.write(example.passage.text.encode("utf-8", "replace"))
        return [str(path), example.question.text]

    def without(self, example: Example, keys: Sequence[int]) -> Example:
        """Words that say nothing in the place of these words of the passage."""
        offset = example.windows[example.focus][0]
        gone = {offset + key for key in keys}
        own = [HIDDEN if place in gone else word for place, word in enumerate(example.passage.words())]
        asked = example.question.words()
        passage, question = (
            text._replace(
                numbers=np.array([self.lexicon.number(word) for word in mine], dtype=np.int64),
                features=features(mine, other, numbers(text.spans, text.text), self.lexicon.rarity),
            )
            for text, mine, other in ((example.passage, own, asked), (example.question, asked, own))
        )
        return example._replace(passage=passage, question=question)

    def map_scores(self, looks: Looks, validation: Sequence[Example], test: Sequence[Example]) -> MapScores:
        return MapScores(evidence.scores(looks.maps, test), [])

    def not_aligning(self, maps: Callable[[Sequence[Example]], Iterator[list[AttentionMap]]]) -> str | None:
        return evidence.not_aligning(maps, self.splits["validation"])

    def save(self, folder: Path) -> None:
        self.lexicon.save(folder, always=self.always)

    def restore(self, folder: Path) -> None:
        self._lexicon, self.always = Lexicon.load(folder)

    def fingerprint(self) -> dict[str, str]:
        return {"vocabulary": self.lexicon.digest(), "features": str(len(FEATURES))}
