"""What a person reads of the data: what was counted, what to know of an input, and the labels of a map."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jaxtyping import Float
from numpy import ndarray

from core.maps import AttentionMap
from core.sentences import Span
from core.text import places_of
from tasks.qa.lexicon import Lexicon

if TYPE_CHECKING:
    from tasks.qa.data import Example

TO_QUESTION, TO_PASSAGE = "to_question", "to_passage"
TOLD = {
    "dropped_empty": "without words in the passage or the question",
    "unanswerable": "without an answer",
    "answers_realigned": "answers stood elsewhere than the data say, and were found",
    "answers_not_found": "answers are not in their passage",
    "approximate": "answers begin or end inside a word: labelled by the words that cover them",
    "without_label": "questions have no answer with a place, and are not learned from",
    "longer_than_a_window": "answers are longer than a window",
    "questions_cut": "questions cut",
    "also_in_train": "also in train",
}


def report(
    counts: Counter[str], splits: Mapping[str, Sequence], lexicon: Lexicon, *, window: int, stride: int
) -> list[str]:
    lines = []
    for split in splits:
        more = "".join(f"; {count:,} {told}" for kind, told in TOLD.items() if (count := counts[f"{split}.{kind}"]))
        lines.append(f"{split}: {counts[f'{split}.questions']:,} of {counts[f'{split}.read']:,} questions{more}")
    of_windows = ", ".join(f"{split} {counts[f'{split}.windows']:,}" for split in splits)
    return [
        *lines,
        f"windows of {window} words, one every {stride}: {of_windows}; vocabulary {lexicon.size:,} pieces, "
        f"{len(lexicon.counts):,} words in {lexicon.passages:,} training passages",
    ]


def notices(example: "Example", lexicon: Lexicon, *, window: int) -> tuple[str, ...]:
    """What a reader should know of an input."""
    found = []
    if unseen := lexicon.never_seen(example.question.words()):
        found.append(f"never seen in training: {' '.join(unseen)}")
    if example.asked > len(example.question.spans):
        found.append(f"the question has {example.asked} words; the first {len(example.question.spans)} were kept")
    if (count := len(example.passage.spans)) > window:
        found.append(f"the passage has {count} words, and was read in windows of {window}")
    return tuple(found)


def maps(
    example: "Example", weights: Mapping[str, Float[ndarray, "*H Q K"]], told: Sequence[str]
) -> list[AttentionMap]:
    """A map a module, of the window that holds the answer: from each word of the passage to the question, and from
    the question as a whole to the passage."""
    words = example.passage.words()[slice(*example.windows[example.focus])]
    axes = {TO_QUESTION: (words, example.question.words()), TO_PASSAGE: ([example.question.text], words)}
    names = {TO_QUESTION: ("passage", "question"), TO_PASSAGE: ("question", "passage")}
    said = ""
    if example.answer:
        first, last = example.answer
        said = example.passage.text[example.passage.spans[first][0] : example.passage.spans[last][1]]
    more = {"passage": example.passage.text, "reference": " / ".join(dict.fromkeys(example.answers))}
    more["notice"] = "; ".join(told)
    texts = {"source": example.question.text, "prediction": said}
    return [
        AttentionMap(
            weights=array if array.ndim == 3 else array[None],
            queries=axes[name][0],
            keys=axes[name][1],
            name=name,
            text=texts | {kind: text for kind, text in more.items() if text},
            origin={"task": "qa", "rows": names[name][0], "columns": names[name][1]},
        )
        for name, array in weights.items()
    ]


def keys_of(example: "Example", word: str) -> list[int]:
    keys = forbidden(example, [word])[TO_PASSAGE]
    if not keys:
        raise ValueError(f"{word!r} is no word of the passage")
    return keys


def forbidden(example: "Example", told: Sequence[str]) -> dict[str, list[int]]:
    """For each look the keys that these words are.

    Raises:
        ValueError: for a word that is neither in the passage nor in the question, and for a passage in windows, whose
            keys have other places in each.
    """
    if len(example.windows) > 1:
        raise ValueError(
            f"the passage has {len(example.passage.spans)} words and is read in {len(example.windows)} windows; words "
            f"can be forbidden where it is read in one. Give the part around {told[0]!r}"
        )
    texts = {TO_PASSAGE: example.passage.words(), TO_QUESTION: example.question.words()}
    keys: dict[str, list[int]] = {name: [] for name in texts}
    for word in told:
        found = {name: places_of(words, word) for name, words in texts.items()}
        if not any(found.values()):
            raise ValueError(
                f"{word!r} is no word of the passage or of the question {example.question.text!r}; "
                f"the passage's words are: {', '.join(dict.fromkeys(texts[TO_PASSAGE]))}"
            )
        for name, places in found.items():
            keys[name] += places
    return keys


def sentence_keys(spans: Sequence[Span], window: Span, sentence: Span) -> Span | None:
    """The keys [start, end) of a window whose words begin in a sentence; None where there are none."""
    inside = [place for place, (start, _) in enumerate(spans[slice(*window)]) if sentence[0] <= start < sentence[1]]
    return (inside[0], inside[-1] + 1) if inside else None
