"""Word and character error rates (jiwer), and transcripts beside their references, word under word."""

from collections.abc import Sequence
from importlib.metadata import version

import jiwer

from core.metrics import Score

HOW = f"jiwer {version('jiwer')}, over all transcripts together, small letters without punctuation"


def error_scores(hypotheses: Sequence[str], references: Sequence[str], what: str = "") -> dict[str, Score]:
    """WER and CER in percent, which insertions can bring above 100; `what` follows their names.

    Raises:
        ValueError: if there is nothing to score, the counts differ, or a reference is empty, whose error rate is none.
    """
    if not references or len(hypotheses) != len(references) or not all(references):
        raise ValueError(
            f"each transcript needs a reference with a word in it, and there must be one at least; got "
            f"{len(hypotheses)} transcripts and {len(references)} references, {sum(map(bool, references))} with words"
        )
    said, wanted = [*hypotheses], [*references]
    of = f"{len(wanted)} transcripts; {HOW}"
    return {
        f"WER{what}": Score(100 * float(jiwer.wer(wanted, said)), of),
        f"CER{what}": Score(100 * float(jiwer.cer(wanted, said)), of),
    }


def side_by_side(names: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]) -> str:
    """Every transcript under its reference: S for a word that was substituted, D deleted, I inserted; those without an
    error come last, a line each."""
    wrong, right = [], []
    for name, said, wanted in zip(names, hypotheses, references, strict=True):
        if said == wanted:
            right.append(f"{name}: {wanted}")
            continue
        lines = jiwer.visualize_alignment(jiwer.process_words(wanted, said), show_measures=False, skip_correct=False)
        wrong.append("\n".join([name, *lines.splitlines()[1:]]).rstrip())
    head = f"{len(wrong)} of {len(references)} transcripts with errors"
    return "\n\n".join([head, *wrong, "without error", "\n".join(right)]) + "\n"
