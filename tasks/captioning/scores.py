"""Scores of captions against all references of their pictures. Captions are in words: small letters, no punctuation."""

import importlib.util
from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU

from core.metrics import Score

LIBRARY = "pycocoevalcap"


def caption_scores(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Score]:
    """BLEU-1 to BLEU-4 from 0 to 100 (sacrebleu), and where its library is installed ROUGE-L and CIDEr-D (from 0; as
    the COCO evaluation counts them), of as many captions as there are pictures, each with one reference or more.

    Raises:
        ValueError: if there is nothing to score, or the counts differ.
    """
    if not hypotheses or len(hypotheses) != len(references) or not all(references):
        raise ValueError(
            f"each caption needs its references, one or more, and there must be one caption at least; got "
            f"{len(hypotheses)} captions and {len(references)} pictures, {sum(map(bool, references))} with references"
        )
    return bleu(hypotheses, references) | (coco(hypotheses, references) if installed() else {})


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Score]:
    most = max(map(len, references))
    streams = [[each[number] if number < len(each) else None for each in references] for number in range(most)]
    scores = {}
    for order in (1, 2, 3, 4):
        metric = BLEU(tokenize="none", max_ngram_order=order, smooth_method="none", force=True)
        value = metric.corpus_score(list(hypotheses), streams).score  # pyright: ignore[reportArgumentType]
        how = f"{order}-grams, small letters, no punctuation, up to {most} references|{metric.get_signature()}"
        scores[f"BLEU-{order}"] = Score(min(float(value), 100.0), how)
    return scores


def coco(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Score]:
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    said = {number: [each] for number, each in enumerate(hypotheses)}
    wanted = {number: [*each] for number, each in enumerate(references)}
    rouge, _ = Rouge().compute_score(wanted, said)
    cider, _ = Cider().compute_score(wanted, said)
    return {
        "ROUGE-L": Score(100 * float(rouge), f"{LIBRARY}, the best of all references"),
        "CIDEr-D": Score(float(cider), f"{LIBRARY}, n-grams weighted by how rare they are in these references"),
    }


def installed() -> bool:
    return importlib.util.find_spec(LIBRARY) is not None


def left_out() -> list[str]:
    """What to say where the library of two of the scores is missing."""
    if installed():
        return []
    return [
        f"ROUGE-L and CIDEr-D are left out: they need the package {LIBRARY} (pip install 'attention-gallery[images]')"
    ]
