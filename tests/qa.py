"""What the tests of questions share: small data, a small model, and files as people have them."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset, DatasetDict, Features, Sequence, Value

from core.attention import AttentionFactory, ScaledDotProductAttention
from tasks.qa import toy
from tasks.qa.model import AttentionFlow
from tasks.qa.sets import ToyQuestions

SIZES = {"train": 40, "validation": 6, "test": 6}
NUMBERS: dict[str, Any] = {
    "pieces": 300,
    "tokens_per_batch": 500,
    "window": 30,
    "stride": 12,
    "longest_question": 20,
    "seed": 1,
}
SMALL = "task=qa data=toy trainer=smoke model.width=16 model.embedding=8 data.pieces=300".split()
SMALL += "data.tokens_per_batch=500 trainer.precision=32-true trainer.eval_examples=4 trainer.map_examples=2".split()
PASSAGE = "Anna lives in Oslo. Ben lives in Rome. Anna works as a judge."


def small_toy(patch: pytest.MonkeyPatch) -> ToyQuestions:
    patch.setattr(toy, "SIZES", SIZES)
    data = ToyQuestions(**NUMBERS)
    data.load()
    return data


def small_model(data: ToyQuestions, attention: AttentionFactory | None = None, **more) -> AttentionFlow:
    torch.manual_seed(0)
    numbers: dict[str, Any] = {
        "width": 16,
        "embedding": 8,
        "gaze_heads": 2,
        "encoder_layers": 1,
        "flow_layers": 1,
        "answer_layers": 1,
        "dropout": 0.0,
        "word_dropout": 0.0,
        "longest_answer": 5,
        "learning_rate": 1e-2,
        "warmup_steps": 1,
        "weight_decay": 0.0,
    }
    made = attention or partial(ScaledDotProductAttention)
    return AttentionFlow(attention=made, vocabulary=data.vocabulary, **(numbers | more))


def told(number: int) -> tuple[str, str, str, int]:
    """A passage, a question about it, the answer and where it stands."""
    passage = f"Bridge {number} was built in {1800 + number}. Its neighbour was built in {1500 + number}."
    return passage, f"When was bridge {number} built?", str(1800 + number), passage.index(str(1800 + number))


def squad(folder: Path) -> Path:
    """SQuAD in the layout of the hub's copy: train and validation, answers as lists of texts and of places."""
    features = Features(
        {
            **{name: Value("string") for name in ("id", "title", "context", "question")},
            "answers": Sequence({"text": Value("string"), "answer_start": Value("int32")}),
        }
    )
    splits = {}
    for split, numbers in (("train", range(30)), ("validation", range(50, 56))):
        rows = [told(number) for number in numbers]
        columns = {
            "id": [f"{split}-{number}" for number in numbers],
            "title": ["Bridges"] * len(rows),
            "context": [passage for passage, *_ in rows],
            "question": [question for _, question, *_ in rows],
            "answers": [{"text": [answer], "answer_start": [start]} for *_, answer, start in rows],
        }
        splits[split] = Dataset.from_dict(columns, features=features)
    for split, rows in DatasetDict(splits).items():
        rows.to_parquet(folder / f"{split}.parquet")
    return folder


def squad_json(path: Path, numbers: range) -> Path:
    """A file in SQuAD 2's json; every fifth question has no answer."""
    paragraphs = []
    for number in numbers:
        passage, question, answer, start = told(number)
        none = number % 5 == 0
        answers = [] if none else [{"text": answer, "answer_start": start}]
        asked = {"id": str(number), "question": "Who paid?" if none else question, "answers": answers}
        paragraphs.append({"context": passage, "qas": [asked | {"is_impossible": none}]})
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "Bridges", "paragraphs": paragraphs}]}))
    return path
