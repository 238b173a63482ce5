"""Where a model must have looked, once it is known what it said: posterior attention (Shankar and Sarawagi 2019,
section 3)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from core.data import DemoData, Looks
from core.demo import Demo
from core.evaluate import attention_maps
from core.faithfulness import log_probabilities, rows_at_once
from core.intervene import intervene
from core.maps import AttentionMap


def looks(model: Demo, data: DemoData) -> Looks:
    """Both ways of asking where a model looks."""
    return Looks(partial(attention_maps, model, data), partial(posterior_maps, model, data))


def posterior_maps(model: Demo, data: DemoData, examples: Sequence[Any]) -> Iterator[list[AttentionMap]]:
    """One map for each example whose output is forced: P(key | output) ~ P(key) P(output | key alone), a row a step.

    The prior is the mean of all heads of the gaze; the likelihood is what the model gives to the output while every
    head may look at this one key. So a look at what was not said in the end loses its weight. An example with nothing
    in it gives no map.
    """
    for example, maps in zip(examples, attention_maps(model, data, examples, modules=model.explains), strict=True):
        if not maps:
            yield []
            continue
        prior = np.concatenate([map.weights for map in maps]).mean(axis=0)
        weights = posterior(prior, alone(model, data, example, prior.shape))
        yield [replace(maps[0], weights=weights, name="posterior of all layers")]


def posterior(prior: Float[np.ndarray, "Q K"], log_likelihood: Float[np.ndarray, "Q K"]) -> Float[np.ndarray, "Q K"]:
    """Bayes' rule by rows; a row of zeros stays one, and so does a key without weight."""
    with np.errstate(divide="ignore"):
        joint = np.log(prior) + log_likelihood
    attending = prior.any(axis=-1)
    weights = np.zeros(prior.shape)
    weights[attending] = np.exp(joint[attending] - joint[attending].max(axis=-1, keepdims=True))
    return weights / np.where(attending, weights.sum(axis=-1), 1.0)[:, None]


def alone(model: Demo, data: DemoData, example: Any, shape: tuple[int, int]) -> Float[np.ndarray, "Q K"]:
    """The log-probability of each output while the gaze may look at one key alone."""
    queries, keys = shape
    others = ~torch.eye(keys, dtype=torch.bool).unsqueeze(1)
    found = []
    for some in others.split(rows_at_once(data, example)):
        with intervene(model, forbid=some, modules=model.explains):
            found.append(log_probabilities(model, data, [example] * len(some)))
    return np.concatenate(found).T
