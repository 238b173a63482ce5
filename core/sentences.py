"""Sentences as places in a text: nothing is copied, so what is chosen is a slice of what was read."""

from itertools import accumulate, pairwise

from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]  # a compiled module

from core.text import clean

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
