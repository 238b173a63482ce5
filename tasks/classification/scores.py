"""Scores of labels: accuracy, macro-F1, and how far confidence is from being right."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int
from torchmetrics.functional.classification import (
    binary_calibration_error,
    multiclass_confusion_matrix,
    multiclass_f1_score,
)

from core.demo import Prediction
from core.metrics import Score

BINS = 15


def label_scores(truths: Sequence[str], predictions: Sequence[Prediction], labels: Sequence[str]) -> dict[str, Score]:
    """Accuracy and macro-F1 from 0 to 100, and the expected calibration error from 0 to 1 (Guo et al. 2017).

    A text without a label counts as wrong, and as one that was sure of nothing. Labels that neither occur nor are said
    are left out of macro-F1.

    Raises:
        ValueError: if there is nothing to score, or the counts differ.
    """
    if not truths or len(truths) != len(predictions):
        raise ValueError(f"each text has one label and one prediction; got {len(truths)} and {len(predictions)}")
    said, wanted = (torch.from_numpy(each) for each in numbered(truths, predictions, labels))
    right = said == wanted
    confidence = torch.tensor([math.exp(each.mean_log_probability or -math.inf) for each in predictions])
    f1 = multiclass_f1_score(said, wanted, num_classes=len(labels) + 1, average="macro")
    error = binary_calibration_error(confidence.clamp(0.0, 1.0), right.long(), n_bins=BINS, norm="l1")
    usual = max(truths.count(label) for label in set(truths)) / len(truths)
    return {
        "accuracy": Score(100 * float(right.float().mean()), f"%, of {len(truths):,}; the commonest label {usual:.1%}"),
        "macro-F1": Score(100 * float(f1), "%, the mean over labels"),
        "calibration error": Score(float(error), f"expected, of the label that is said, {BINS} equal bins"),
    }


def confusion(
    truths: Sequence[str], predictions: Sequence[Prediction], labels: Sequence[str]
) -> Int[np.ndarray, "L L"]:
    """How many texts of each label (rows) were said to have each label (columns); those without any are left out."""
    said, wanted = numbered(truths, predictions, labels)
    kept = said < len(labels)
    counts = multiclass_confusion_matrix(
        torch.from_numpy(said[kept]), torch.from_numpy(wanted[kept]), num_classes=len(labels)
    )
    return counts.numpy()


def numbered(
    truths: Sequence[str], predictions: Sequence[Prediction], labels: Sequence[str]
) -> tuple[Int[np.ndarray, " N"], Int[np.ndarray, " N"]]:
    """What was said and what is true as numbers; no label is one more."""
    numbers = {label: number for number, label in enumerate(labels)}
    return (
        np.array([numbers.get(each.output, len(labels)) for each in predictions], dtype=np.int64),
        np.array([numbers[each] for each in truths], dtype=np.int64),
    )
