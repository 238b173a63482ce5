"""ROUGE (Lin 2004) by rouge-score, for words of any script: its own tokenizer would see nothing in Chinese."""

from collections.abc import Sequence
from importlib.metadata import version

from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import Tokenizer as RougeTokenizer

from tasks.summarization.sentences import terms

KINDS = {"rouge1": "rouge1", "rouge2": "rouge2", "rougeL": "rougeLsum"}
"""Our names, and rouge-score's: L is that of summaries, by sentences."""


class Terms(RougeTokenizer):
    """Words as they are everywhere here: for plain English what rouge-score's own tokenizer makes."""

    def tokenize(self, text: str) -> list[str]:
        return terms(text)


def rouge(summaries: Sequence[str], references: Sequence[str], kinds: Sequence[str] = tuple(KINDS)) -> dict[str, list]:
    """The F1 of each summary, from 0 to 100, by kind; sentences stand on lines. An empty summary has 0."""
    scorer = RougeScorer([KINDS[kind] for kind in kinds], tokenizer=Terms())
    found = [scorer.score(target, prediction) for target, prediction in zip(references, summaries, strict=True)]
    return {kind: [100.0 * float(each[KINDS[kind]].fmeasure) for each in found] for kind in kinds}


def signature(kind: str) -> str:
    level = ", summary level" if kind == "rougeL" else ""
    return f"rouge-score {version('rouge-score')}, mean F1{level}, casefolded words of any script, no stemming"
