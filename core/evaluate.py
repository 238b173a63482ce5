"""What a model is worth on examples, and where it looks: after training, in evaluate.py, on a user's inputs."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

from core.data import DemoData
from core.demo import Demo, Prediction
from core.maps import AttentionMap
from core.metrics import Score
from core.record import record


class Evaluation(NamedTuple):
    """Scores, and the predictions they are the scores of."""

    scores: dict[str, Score]
    predictions: list[Prediction]


@torch.inference_mode()
def generate(model: Demo, data: DemoData, examples: Sequence[Any]) -> list[Any]:
    """What the model makes of each example; None for those with nothing in them."""
    generated: list[Any] = [None] * len(examples)
    model.eval()
    for numbers in data.batches(examples):
        batch = model.transfer_batch_to_device(data.collate([examples[n] for n in numbers]), model.device, 0)
        for number, decoded in zip(numbers, model.generate(batch), strict=True):
            generated[number] = decoded
    return generated


def predict(model: Demo, data: DemoData, examples: Sequence[Any]) -> list[Prediction]:
    """Predictions in words, one for each example, in order."""
    return data.predictions(examples, generate(model, data, examples))


@torch.inference_mode()
def mean_loss(model: Demo, data: DemoData, examples: Sequence[Any]) -> float:
    """The loss in nats for each predicted token, over all examples."""
    total, tokens = 0.0, 0
    model.eval()
    for numbers in data.batches(examples):
        batch = model.transfer_batch_to_device(data.collate([examples[n] for n in numbers]), model.device, 0)
        count = model.tokens(batch)
        total, tokens = total + float(model.loss(batch)) * count, tokens + count
    return total / max(1, tokens)


def evaluate(model: Demo, data: DemoData, examples: Sequence[Any]) -> Evaluation:
    """Generates, scores, and adds the perplexity of the references."""
    predictions = predict(model, data, examples)
    scores = data.scores(examples, predictions)
    perplexity = math.exp(min(mean_loss(model, data, examples), 700.0))
    return Evaluation(
        scores | {"perplexity": Score(perplexity, "of the reference's tokens, exp of the mean loss")}, predictions
    )


@torch.inference_mode()
def attention_maps(
    model: Demo, data: DemoData, examples: Sequence[Any], *, modules: Sequence[str] | None = None
) -> Iterator[list[AttentionMap]]:
    """The gaze on each example, whose target is forced: one forward pass inside `record`, an example at a time.

    `modules` are those of the gaze to look at; all, and what the model shows beside them, unless it is given. Nothing
    is averaged and nothing of the padding is left; an example with nothing in it gives no maps, nor does a model
    without a gaze.
    """
    model.eval()
    watched = model.gaze if modules is None else list(modules)
    for example in examples:
        if not data.size(example) or not watched:
            yield []
            continue
        batch = model.transfer_batch_to_device(data.collate([example]), model.device, 0)
        with record(model, modules=watched) as weights:
            model.loss(batch)
        weights = weights if modules is not None else {**weights, **model.beside(batch)}
        yield data.maps(example, {name: map[0].float().cpu().numpy() for name, map in weights.items()})
