"""What a person should know of the data before a training, in lines."""

from collections.abc import Mapping, Sequence

from core.held_out import SPLITS

LEFT_OUT = {
    "without_sound": "without a sound left out",
    "without_words": "without a word in the transcript left out",
    "too_long": "longer than max_seconds or max_length left out",
    "resampled": "resampled",
    "broken": "that cannot be read left out",
}
SHOWN = 5


def read_of(counts: Mapping[str, int], rate: int, vocabulary: int, crowded: Sequence[str]) -> list[str]:
    """What was read of each split, what was left out, and which transcripts are too long for their sounds."""
    lines = []
    for split in SPLITS:
        more = [f"{count:,} {words}" for kind, words in LEFT_OUT.items() if (count := counts.get(f"{split}.{kind}", 0))]
        minutes = counts.get(f"{split}.seconds", 0) / 60
        lines.append("; ".join([f"{split}: {counts.get(f'{split}.recordings', 0):,} sounds, {minutes:.1f} min", *more]))
    share = counts["validation.unknown_characters"] / max(1, counts["validation.characters"])
    lines.append(f"{rate} Hz; vocabulary {vocabulary} characters, {share:.2%} of validation unknown to it")
    if crowded:
        names = ", ".join(crowded[:SHOWN]) + (", ..." if len(crowded) > SHOWN else "")
        lines.append(
            f"{len(crowded):,} transcripts of train need more frames than their sounds have, so CTC leaves them out: "
            f"{names}"
        )
    return lines
