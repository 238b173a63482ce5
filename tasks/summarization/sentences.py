"""Sentences and words as places in a text: nothing is copied, so what is chosen is a slice of what was read."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]  # a compiled module

from core.text import clean, words

Span = tuple[int, int]
"""[start, end), in characters of the text."""


def sentences(text: str, *, language: str = "en") -> list[Span]:
    """Where each sentence stands, without the space around it; what has no letter and no digit is no sentence.

    Titles, initials, prices and abbreviations end none, by the rules that sentencex (Wikimedia) has for a language;
    of one that it does not know, the rules of a related one. A blank line ends a sentence, a single line break does
    not.
    """
    parts = segment(language, text)
    spans = [trimmed(text, span) for span in pairwise(accumulate(map(len, parts), initial=0))]
    return [(start, end) for start, end in spans if any(map(str.isalnum, text[start:end]))]


def trimmed(text: str, span: Span) -> Span:
    """A span without the space, and the invisible characters, at its ends."""
    start, end = span
    while start < end and not clean(text[start]):
        start += 1
    while start < end and not clean(text[end - 1]):
        end -= 1
    return start, end


def terms(text: str) -> list[str]:
    """The words of a text that have a letter or a digit, in any script and regardless of case."""
    found = (text[start:end].casefold() for start, end in words(text))
    return [word for word in found if any(map(str.isalnum, word))]


def joined(text: str, spans: Sequence[Span]) -> str:
    """Sentences in one line, with a space between them where the text has one."""
    said = ""
    for start, end in spans:
        gap = " " if text[end : end + 1].isspace() or end == len(text) else ""
        said += " ".join(text[start:end].split()) + gap
    return said.rstrip()


def listed(text: str, spans: Sequence[Span]) -> str:
    """A sentence a line: what ROUGE-L wants (Lin 2004, section 3.2, summary level)."""
    return "\n".join(" ".join(text[start:end].split()) for start, end in spans)
