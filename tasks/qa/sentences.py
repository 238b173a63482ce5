"""Where sentences end, well enough to say which one an answer is in."""

import re
from bisect import bisect_right
from collections.abc import Sequence

Span = tuple[int, int]
"""[start, end)."""

STOP = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]+[”’」』）]*|\n\s*\n")
SHORT = frozenset(
    "dr mr mrs ms prof st jr sr vs etc no vol fig gen col lt sgt capt rev hon gov sen rep inc co corp ltd dept univ "
    "est approx ca cf al e.g i.e a.m p.m u.s u.k jan feb mar apr jun jul aug sep sept oct nov dec bzw usw nr str z.b "
    "d.h".split()
)
"""Words that a full stop after them mostly belongs to."""


def sentences(text: str) -> list[Span]:
    """The sentences of a text as [start, end) in it; together they hold everything but the blanks between them.

    A full stop right after a single letter, a title or another usual abbreviation ends none, nor does one before a word
    in lower case.
    """
    found, start = [], 0
    for stop in STOP.finditer(text):
        if ends(text, stop):
            found.append((start, stop.end()))
            start = stop.end()
    trimmed = [trim(text, span) for span in [*found, (start, len(text))]]
    return [span for span in trimmed if span[0] < span[1]]


def ends(text: str, stop: re.Match[str]) -> bool:
    if not stop.group().startswith("."):
        return True
    words = text[max(0, stop.start() - 40) : stop.start()].split()
    before = words[-1].lstrip("(\"'“‘[") if words else ""
    after = text[stop.end() : stop.end() + 40].lstrip()
    initial = len(before) == 1 and before.isalpha() and before.isupper()
    abbreviates = stop.group() == "." and (initial or before.casefold() in SHORT)
    return not (abbreviates or after[:1].islower())


def trim(text: str, span: Span) -> Span:
    start, end = span
    inside = text[start:end]
    return start + len(inside) - len(inside.lstrip()), end - len(inside) + len(inside.rstrip())


def numbers(spans: Sequence[Span], of: Sequence[Span]) -> list[int]:
    """For each span the number of the sentence of `of` that it begins in."""
    starts = [start for start, _ in of]
    return [max(0, bisect_right(starts, start) - 1) for start, _ in spans]
