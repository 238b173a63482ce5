"""Words and sentences of a text as scores and summaries want them."""

from collections.abc import Sequence

from core.sentences import Span
from core.text import words


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
