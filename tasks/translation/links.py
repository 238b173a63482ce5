"""True word links from a file, placed on the characters of sentences: what the gaze is scored by."""

import gzip
import html
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from core.public import DataError
from core.text import lines_of

Link = tuple[int, int]
Span = tuple[int, int]
PLAIN = str.maketrans("’‘´`“”„«»–—", '\'\'\'\'"""""--')
"""Marks that one tokenizer keeps and another writes in ASCII; one character for one, so that no place moves."""


class Phrase(NamedTuple):
    """Words of the target that belong to words of the source, each as [start, end)."""

    source: Span
    target: Span


class Row(NamedTuple):
    """What a file says of one sentence pair: its words as some tokenizer wrote them, and what is linked."""

    source_words: list[str]
    target_words: list[str]
    sure: list[Link]
    """(source word, target word), counted from 0."""
    possible: list[Link]
    """Further links that are no mistake."""
    phrases: list[Phrase]
    complete: bool
    """Whether every word was looked at, and not a sample of them."""
    line: int | None
    """The row of the test split that it belongs to; None for a sentence pair of its own."""

    def turned(self) -> "Row":
        """The same row with its sides exchanged."""
        return self._replace(
            source_words=self.target_words,
            target_words=self.source_words,
            sure=[(target, source) for source, target in self.sure],
            possible=[(target, source) for source, target in self.possible],
            phrases=[Phrase(target, source) for source, target in self.phrases],
        )


class Linked(NamedTuple):
    """A row whose words are placed on the characters of a sentence pair."""

    source: str
    target: str
    source_spans: list[Span]
    target_spans: list[Span]
    row: Row

    def within(self, source: Collection[int], target: Collection[int]) -> "Linked":
        """Only the links between these words: of a text that was cut, those that are left."""

        def left(links: Iterable[Link]) -> list[Link]:
            return [link for link in links if link[0] in source and link[1] in target]

        phrases = [
            phrase
            for phrase in self.row.phrases
            if {*range(*phrase.source)} <= {*source} and {*range(*phrase.target)} <= {*target}
        ]
        return self._replace(
            row=self.row._replace(sure=left(self.row.sure), possible=left(self.row.possible), phrases=phrases)
        )


def read_links(path: str) -> list[Row]:
    """The rows of a file of links: JSON lines, plain or gzipped, each with the lists of words `src_words` and
    `tgt_words`, and one of these:

    - `sure` and maybe `possible`: lists of [source, target]; all words were looked at;
    - `src_pos` and `tgt_pos`: the places of one word and of its partner;
    - `phrases`: a list of objects with `src` and `tgt`, each [start, end).

    `line` is the row of the test split that the words are from; without it the words are a sentence pair of their own.

    Raises:
        DataError: where the file is missing, or a row is something else, naming its line.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise DataError(f"data.links={path}: there is no such file")
    try:
        data = file.read_bytes()
        lines = lines_of(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, path)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"data.links={path} cannot be read: {error}") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(row_of(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise DataError(f"data.links={path}: line {number} is no row of links ({problem})") from error
    return rows


def row_of(fields: Mapping[str, Any]) -> Row:
    source, target = ([html.unescape(word) for word in fields[name]] for name in ("src_words", "tgt_words"))
    phrases, possible = [], pairs_of(fields.get("possible", []))
    if "sure" in fields:
        sure = pairs_of(fields["sure"])
    elif "phrases" in fields:
        sure = []
        phrases = [Phrase(*pairs_of([phrase["src"], phrase["tgt"]])) for phrase in fields["phrases"]]
    else:
        sure = [(int(s), int(t)) for s in fields["src_pos"] for t in fields["tgt_pos"]]
    ends = [(s_end - 1, t_end - 1) for (_, s_end), (_, t_end) in phrases]
    for s, t in [*sure, *possible, *ends]:
        if not (0 <= s < len(source) and 0 <= t < len(target)):
            raise ValueError(f"the link [{s}, {t}] is outside {len(source)} and {len(target)} words")
    return Row(source, target, sure, possible, phrases, "sure" in fields, fields.get("line"))


def pairs_of(lists: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    return [(int(one), int(other)) for one, other in lists]


def facing(rows: Sequence[Row], pairs: Iterable[tuple[str, str]]) -> list[Row]:
    """The rows with their sides as in `pairs` of source and target: whichever way round more of their words occur
    there. A column's name does not count: `src_words` may be either language."""
    sources, targets = (set(" ".join(side).casefold().split()) for side in zip(*pairs, strict=True))
    known: Counter[bool] = Counter()
    for row in rows:
        for turned, (source, target) in enumerate([(sources, targets), (targets, sources)]):
            known[bool(turned)] += sum(word.casefold() in source for word in row.source_words)
            known[bool(turned)] += sum(word.casefold() in target for word in row.target_words)
    return [row.turned() for row in rows] if known[True] > known[False] else list(rows)


def place(row: Row, pairs: Sequence[tuple[str, str]]) -> Linked | None:
    """The row on the sentence pair of its `line`, or else on its own words with spaces between; None where the words
    are not those of the sentence."""
    if row.line is None:
        source, target = " ".join(row.source_words), " ".join(row.target_words)
    elif 0 <= row.line < len(pairs):
        source, target = pairs[row.line]
    else:
        return None
    source_spans, target_spans = spans_of(row.source_words, source), spans_of(row.target_words, target)
    if source_spans is None or target_spans is None:
        return None
    return Linked(source, target, source_spans, target_spans, row)


def spans_of(words: Sequence[str], text: str) -> list[Span] | None:
    """Where each word stands in the text, [start, end): one after the other, with nothing but spaces between them and
    case left aside; None if they do not."""
    plain, spans, at = lowered(text), [], 0
    for word in words:
        while at < len(plain) and plain[at].isspace():
            at += 1
        if not plain.startswith(lowered(word), at):
            return None
        spans.append((at, at + len(word)))
        at += len(word)
    return spans if not plain[at:].strip() else None


def lowered(text: str) -> str:
    """In lower case, character for character, with plain quotes and dashes."""
    return "".join(low if len(low := char.lower()) == 1 else char for char in text).translate(PLAIN)
