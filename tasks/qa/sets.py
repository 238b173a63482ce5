"""Where questions come from: the hub, a folder in its layout, files of one's own, and the built-in set."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from core.public import DataError, load_public
from tasks.qa import toy
from tasks.qa.answers import Question
from tasks.qa.data import QuestionData
from tasks.qa.own import FILES, read_questions

COLUMNS = ("context", "question", "answers")


class PublicQuestions(QuestionData):
    """A set in SQuAD's layout: a hub id, a local folder, or a file in SQuAD's json.

    Its validation split is what is scored in the end, as the field does. To choose weights by, `held_out` questions of
    train are set apart, with their passages. A set without a train split, such as XQuAD, can be evaluated on.
    """

    def __init__(self, *, path: str, name: str | None = None, held_out: int = 500, **shared: Any) -> None:
        super().__init__(**shared)
        self.path, self.name, self.held_out = path, name, held_out

    def questions(self) -> dict[str, list[Question]]:
        if self.path.endswith(FILES):
            return {"train": [], "validation": [], "test": read_questions(self.path)}
        loaded = load_public(self.path, columns=COLUMNS, splits=("validation",), name=self.name)
        found = {split: rows(self.path, loaded[split]) for split in ("train", "validation") if split in loaded}
        train, validation = with_held_out(found.get("train", []), self.held_out, self.seed, self.counts)
        return {"train": train, "validation": validation, "test": found["validation"]}


class OwnQuestions(QuestionData):
    """Questions from files of one's own in SQuAD's json, plain or gzipped. Where there is no file for validation or
    test, `held_out` questions are set apart for each."""

    def __init__(
        self,
        *,
        path: str,
        validation_path: str | None = None,
        test_path: str | None = None,
        held_out: int = 500,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        self.path, self.held_out = path, held_out
        self.paths = {"validation": validation_path, "test": test_path}

    def questions(self) -> dict[str, list[Question]]:
        train = read_questions(self.path)
        found = {}
        for split, path in self.paths.items():
            if path:
                found[split] = read_questions(path)
            else:
                train, found[split] = with_held_out(train, self.held_out, self.seed, self.counts, split)
                if not found[split]:
                    raise DataError(
                        f"{self.path} has too few passages to set some apart for {split}: give data.{split}_path=FILE"
                    )
        return {"train": train, **found}


class ToyQuestions(QuestionData):
    """The built-in passages of facts."""

    def questions(self) -> dict[str, list[Question]]:
        return {
            split: [Question(each.passage, each.question, (each.answer,), (each.start,)) for each in found]
            for split, found in toy.questions(seed=self.seed).items()
        }


def rows(path: str, table: Any) -> list[Question]:
    """The rows of a split in SQuAD's columns: `answers` holds lists `text` and `answer_start`."""
    found = []
    for row in table:
        answers = row["answers"]
        if not isinstance(answers, dict) or not {"text", "answer_start"} <= answers.keys():
            raise DataError(f"data.path={path}: answers hold {answers!r}, wanted lists named text and answer_start")
        texts, starts = answers["text"], answers["answer_start"]
        if len(texts) != len(starts):
            raise DataError(f"data.path={path}: an answer has {len(texts)} texts and {len(starts)} places")
        found.append(Question(row["context"] or "", row["question"] or "", tuple(texts), tuple(starts)))
    return found


def with_held_out(
    train: Sequence[Question], held_out: int, seed: int, counts: Counter[str], split: str = "validation"
) -> tuple[list[Question], list[Question]]:
    """Train, and about so many of its questions, whole passages with all of theirs; at most a tenth of train."""
    wanted = min(held_out, len(train) // 10)
    passages = list(dict.fromkeys(question.passage for question in train))
    random.Random(seed).shuffle(passages)
    of_passage = Counter(question.passage for question in train)
    apart: set[str] = set()
    count = 0
    for passage in passages:
        if count >= wanted:
            break
        apart.add(passage)
        count += of_passage[passage]
    counts[f"{split}.set_apart_from_train"] = count
    return [q for q in train if q.passage not in apart], [q for q in train if q.passage in apart]
