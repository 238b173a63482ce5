"""What a person should know of the data before a training, in lines."""

from collections.abc import Iterable, Mapping

from tasks.classification.words import Vocabulary

KINDS = {
    "set_apart_from_train": "of them set apart from train",
    "without_words": "without a word",
    "without_label": "without a label",
    "left_out_as_parts": "parts of texts set apart, left out",
    "also_in_train": "also in train",
}
MOST = 12
"""Labels that are named."""


def report(counts: Mapping[str, int], splits: Iterable[str], vocabulary: Vocabulary, max_length: int) -> list[str]:
    """What was read of each split and what was left out of it; the labels, and what is unknown."""
    lines = []
    for split in splits:
        more = [f"{count:,} {words}" for kind, words in KINDS.items() if (count := counts.get(f"{split}.{kind}", 0))]
        lines.append("; ".join([f"{split}: {counts[f'{split}.texts']:,} texts", *more]))
    labels, more = vocabulary.labels, len(vocabulary.labels) - MOST
    lines.append(f"{len(labels)} labels: {', '.join(labels[:MOST])}{f' and {more} more' if more > 0 else ''}")
    share = counts["validation.unknown_words"] / max(1, counts["validation.words"])
    lines.append(
        f"{counts['cut_to_max_length']:,} texts cut to {max_length} words; vocabulary {vocabulary.size:,} words, "
        f"{share:.2%} of validation unknown to it and read by their parts alone"
    )
    return lines
