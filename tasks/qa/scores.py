"""Exact match and F1 of answers: torchmetrics' SQuAD, made right for questions without an answer and for scripts that
are written without spaces."""

import unicodedata
from collections.abc import Sequence
from importlib.metadata import version

from torchmetrics.functional.text import squad

from core.metrics import Score
from core.text import words


def answer_scores(predictions: Sequence[str], golds: Sequence[Sequence[str]]) -> dict[str, Score]:
    """F1 and exact match from 0 to 100, the mean over questions of the best of each one's right answers.

    No right answer at all is one that is empty, as in SQuAD 2.

    Raises:
        ValueError: if the counts differ, or there is nothing to score.
    """
    if len(predictions) != len(golds):
        raise ValueError(f"{len(predictions)} predictions, but answers to {len(golds)} questions: each needs its own")
    if not predictions:
        raise ValueError("nothing to score: answers to no question at all came")
    said = [{"id": str(n), "prediction_text": apart(text)} for n, text in enumerate(predictions)]
    right = [
        {"id": str(n), "answers": {"text": [apart(text) for text in texts] or [""], "answer_start": [0] * len(texts)}}
        for n, texts in enumerate(golds)
    ]
    found = squad(said, right)  # pyright: ignore[reportArgumentType]
    signature = f"SQuAD v1.1's normalisation, max over answers|torchmetrics {version('torchmetrics')}"
    return {"f1": Score(float(found["f1"]), signature), "exact match": Score(float(found["exact_match"]), signature)}


def apart(text: str) -> str:
    """The text in NFC, its words apart by a space where the script has none, without signs that are not ASCII: those
    that are torchmetrics leaves out itself, as SQuAD's script does."""
    text = unicodedata.normalize("NFC", text)
    if text.isascii():
        return text
    spans = words(text)
    kept, end = [], 0
    for start, stop in spans:
        word = text[start:stop]
        if start > end or unspaced(word) or kept and unspaced(kept[-1]):
            kept.append(" ")
        kept.append(word if word.isascii() or not foreign_sign(word) else "")
        end = stop
    return "".join(kept).strip()


def unspaced(word: str) -> bool:
    """Whether it is a character of a script that is written without spaces, which is a word of its own."""
    return len(words(word + word)) == 2 and word[0].isalpha()


def foreign_sign(word: str) -> bool:
    return unicodedata.category(word[0])[0] == "P"
