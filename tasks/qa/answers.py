"""Answers as places in a passage: what a data set says is checked, mended or refused, and always counted."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from core.sentences import Span


class Question(NamedTuple):
    """A question about a passage as a data set has it: texts as they are, answers with the character they begin at."""

    passage: str
    question: str
    answers: tuple[str, ...] = ()
    """All that count as right; none where the passage has no answer."""
    starts: tuple[int, ...] = ()
    key: str = ""


def placed(question: Question, counts: Counter[str], split: str) -> list[Span]:
    """Where each answer stands in the passage, in characters; those that are nowhere in it are left out.

    An answer that does not stand where the data set says is looked for, and the nearest occurrence is taken.
    """
    found = []
    for answer, start in zip(question.answers, question.starts, strict=True):
        if answer.strip() and question.passage[start : start + len(answer)] == answer and start >= 0:
            found.append((start, start + len(answer)))
            continue
        places = [match.start() for match in re.finditer(f"(?={re.escape(answer)})", question.passage)]
        counts[f"{split}.answers_realigned" if places and answer.strip() else f"{split}.answers_not_found"] += 1
        if places and answer.strip():
            nearest = min(places, key=lambda place: abs(place - start))
            found.append((nearest, nearest + len(answer)))
    return found


def covering(span: Span, words: Sequence[Span]) -> Span | None:
    """The first and the last word that share a character with a span; None where no word does."""
    touched = [number for number, (start, end) in enumerate(words) if start < span[1] and span[0] < end]
    return (touched[0], touched[-1]) if touched else None


def exact(label: Span, span: Span, words: Sequence[Span], passage: str) -> bool:
    """Whether the words of a label are the answer and nothing besides, blanks apart."""
    return passage[words[label[0]][0] : words[label[1]][1]] == passage[slice(*span)].strip()
