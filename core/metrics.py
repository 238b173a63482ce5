"""Scores of translations against references, each with the signature that lets somebody else repeat it."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF


class Score(NamedTuple):
    value: float
    signature: str


def translation_scores(
    hypotheses: Sequence[str], references: Sequence[str], *, language: str = "en"
) -> dict[str, Score]:
    """BLEU, BLEU in lower case and chrF from 0 to 100, one reference a hypothesis; `language` is that of the target.

    Where no reference has four tokens, BLEU stops at the longest n-gram there is (`eff:yes` in the signature, and a
    warning): without that a perfect translation scores 0. Raises TypeError for nested lists, which sacrebleu would
    score as 100, and ValueError if the counts differ.
    """
    _check(hypotheses, references)
    tokens = _tokens(language)
    short = _is_short(references, tokens)
    metrics = {
        "bleu": BLEU(tokenize=tokens, effective_order=short),
        # force: "looks tokenized" is said once, above
        "bleu_lower": BLEU(tokenize=tokens, effective_order=short, lowercase=True, force=True),
        "chrf": CHRF(),
    }
    return {name: _score(metric, hypotheses, references) for name, metric in metrics.items()}


def _score(metric: BLEU | CHRF, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score(min(float(value), 100.0), str(metric.get_signature()))  # a perfect score comes as 100.00000000000004


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    for name, texts in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(texts, str):
            raise TypeError(f"{name} must be a list of sentences, but one string came: put it in a list")
        wrong = next((text for text in texts if not isinstance(text, str)), None)
        if wrong is not None or None in texts:
            raise TypeError(
                f"each of the {name} must be a string, but {wrong!r} came. Give a flat list, one reference a hypothesis"
            )
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses but {len(references)} references: each needs exactly one")
    if not hypotheses:
        raise ValueError("no sentences to score: hypotheses and references are empty lists")


def _tokens(language: str) -> str:
    """The name of sacrebleu's tokenizer for a language code such as "en", "zh-CN" or "ja"."""
    code = language.lower().replace("_", "-").split("-")[0]
    if code == "ja" and not _has_mecab():
        warnings.warn("Japanese BLEU is counted on characters. For words: pip install 'sacrebleu[ja]'", stacklevel=3)
        return "char"
    return {"zh": "zh", "ja": "ja-mecab"}.get(code, BLEU.TOKENIZER_DEFAULT)


def _has_mecab() -> bool:
    try:
        BLEU(tokenize="ja-mecab")
    except RuntimeError:
        return False
    return True


def _is_short(references: Sequence[str], tokens: str) -> bool:
    """Asked of the references alone, so that a model cannot change the measure by saying little."""
    count = BLEU(tokenize=tokens).tokenizer
    if any(len(count(reference).split()) >= 4 for reference in references):
        return False
    warnings.warn("no reference has 4 tokens: BLEU counts the n-grams that there are (eff:yes)", stacklevel=3)
    return True
