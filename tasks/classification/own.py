"""Texts with labels from a person's own files, and texts set apart where there is no split for validation or test."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from core.held_out import SPLITS, drawn, share
from core.public import DataError
from core.tables import rows_in, split_of, texts
from tasks.classification.examples import Labelled
from tasks.classification.words import Told

PARTS = 2
"""Words that a text has at least to count as a part of a longer one."""


def read_texts(path: str, text: str, label: str) -> dict[str, list[Labelled]]:
    """The texts of a tsv, csv or jsonl, by the ending of its name, with their labels; of the splits that its column
    `split` names, or all as train.

    The columns, or the keys of an object, are named `text` and `label` say. A table without these names in its first
    line has two columns, the text first.

    Raises:
        DataError: naming file, line, what came and what was expected.
    """
    found: dict[str, list[Labelled]] = {}
    for where, fields in rows_in(path, (text, label)):
        if fields is None:
            continue
        named = fields | ({label: str(fields[label])} if isinstance(fields.get(label), int) else {})
        told, name = texts(named, (text, label), where)
        split = split_of(fields.get("split"), where) or "train"
        found.setdefault(split, []).append(Labelled(told, name.strip()))
    if "train" not in found:
        raise DataError(f"{path} has no text to train on; its splits are: {', '.join(found) or 'none, it is empty'}")
    return found


def with_held_out(
    found: Mapping[str, list[Labelled]], held_out: int, *, seed: int, counts: Counter[str], whole: bool = False
) -> dict[str, list[Labelled]]:
    """The splits, and for validation and test, where they are missing, texts drawn from train; counted.

    A text that occurs twice is in one split only, and never more than a tenth of train is set apart for each. With
    `whole`, for sets whose texts are also there in parts, only texts that are no part of another are set apart, and
    train loses their parts: else a model would be chosen by how well it remembers.
    """
    missing = [split for split in SPLITS[1:] if split not in found]
    train = found["train"]
    size = share(len(train), held_out, missing, things="texts", instead="a column split")
    told = {each: Told.of(each).lowered for each in dict.fromkeys(each.text for each in train)} if missing else {}
    kinds = list(dict.fromkeys(told.values()))
    apart = drawn(without_parts(kinds) if whole else kinds, size, missing, seed=seed)
    taken = {split: [each for each in train if apart.get(told[each.text]) == split] for split in missing}
    rest = [each for each in train if told.get(each.text) not in apart]
    counts.update({f"{split}.set_apart_from_train": len(each) for split, each in taken.items()})
    parts = {part for kind in apart for part in parts_of(kind)} if whole else set()
    kept = [each for each in rest if told.get(each.text) not in parts]
    counts["train.left_out_as_parts"] += len(rest) - len(kept)
    return {"train": kept, **taken, **{split: each for split, each in found.items() if split != "train"}}


def without_parts(texts: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The texts that are no stretch of another one, longest first."""
    kept: list[tuple[str, ...]] = []
    seen: set[int] = set()
    for text in sorted(texts, key=lambda each: (-len(each), each)):
        if hash(text) not in seen and len(text) >= PARTS:
            kept.append(text)
            seen.update(map(hash, parts_of(text)))
    return kept


def parts_of(text: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """All stretches of at least `PARTS` words."""
    for start in range(len(text)):
        for end in range(start + PARTS, len(text) + 1):
            yield text[start:end]
