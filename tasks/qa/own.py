"""Questions from files in SQuAD's json."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.public import DataError
from tasks.qa.answers import Question

FILES = (".json", ".json.gz")


def read_questions(path: str) -> list[Question]:
    """The questions of a file: `data[].paragraphs[].context` and `.qas[].question, .answers[].text, .answer_start`;
    a question with `is_impossible` or no answers has none (SQuAD 2).

    Raises:
        DataError: naming the file, the place in it, what came and what was expected.
    """
    try:
        content = Path(path).expanduser().read_bytes()
        content = gzip.decompress(content) if path.endswith(".gz") else content
        tree = json.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is no json in UTF-8: {error}") from error
    return list(questions(tree, path))


def questions(tree: Any, path: str) -> Iterator[Question]:
    for n, article in enumerate(field(tree, "data", list, path)):
        for m, paragraph in enumerate(field(article, "paragraphs", list, f"{path}: data[{n}]")):
            place = f"{path}: data[{n}].paragraphs[{m}]"
            passage = field(paragraph, "context", str, place)
            for k, asked in enumerate(field(paragraph, "qas", list, place)):
                yield question(passage, asked, f"{place}.qas[{k}]")


def question(passage: str, asked: Any, place: str) -> Question:
    told = field(asked, "question", str, place)
    given = [] if asked.get("is_impossible") else field(asked, "answers", list, place)
    answers = [(field(each, "text", str, place), field(each, "answer_start", int, place)) for each in given]
    texts, starts = (tuple(column) for column in zip(*answers, strict=True)) if answers else ((), ())
    return Question(passage, told, texts, starts, str(asked.get("id", "")))


def field(node: Any, name: str, kind: type, place: str) -> Any:
    value = node.get(name) if isinstance(node, dict) else None
    if not isinstance(value, kind):
        found = sorted(node) if isinstance(node, dict) else type(node).__name__
        raise DataError(f"{place}: wanted {name} ({kind.__name__}); found {found}, {name} = {str(value)[:40]!r}")
    return value
