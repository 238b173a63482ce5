"""A model whose look is all it has, for tests of what is asked of looks: it says what it looks at."""

import math
from typing import NamedTuple

import torch
from tiny import Numbers, Tiny
from torch import Tensor

from core.attention import DotProductAttention
from core.maps import AttentionMap


class Scene(NamedTuple):
    """Keys, what each would say (values), and what is to be said: one output for each query."""

    keys: Tensor
    values: Tensor
    said: Tensor
    gone: tuple[int, ...] = ()


class Scenes(Numbers):
    """The last key is a mark."""

    def __init__(self, *scenes: Scene):
        super().__init__(sizes=[4], tokens_per_batch=4)
        self.splits["test"] = list(scenes)

    def size(self, example: Scene) -> int:
        return len(example.keys)

    def collate(self, examples):
        return tuple(torch.stack([getattr(each, part) for each in examples]) for part in ("keys", "values", "said"))

    def without(self, example: Scene, keys) -> Scene:
        values = example.values.clone()
        values[list(keys)] = 0.0
        return example._replace(values=values)

    def maps(self, example: Scene, weights):
        keys = [str(number) for number in range(len(example.keys))]
        special = [False] * (len(keys) - 1) + [True]
        return [
            AttentionMap(array, queries=[""] * array.shape[-2], keys=keys, special=special)
            for array in weights.values()
        ]


class Copier(Tiny):
    """Says what it looks at: query q asks with unit vector q, and the values that it gets are logits."""

    def __init__(self):
        super().__init__()
        self.look = DotProductAttention()

    def logits(self, batch):
        keys, values, said = batch
        query = torch.eye(keys.shape[-1])[: said.shape[-1]].expand(len(keys), -1, -1)
        return self.look(query, keys, values)

    def loss(self, batch):
        return -self.log_probabilities(batch).mean()

    def log_probabilities(self, batch):
        return self.logits(batch).log_softmax(-1).gather(-1, batch[2].unsqueeze(-1)).squeeze(-1)

    @property
    def gaze(self):
        return ["look"]


def scene() -> Scene:
    """Query 0 finds key 1 with weight 1/2 beside three of 1/6, and every key says a word of its own."""
    keys = torch.zeros(4, 4)
    keys[1, 0] = math.log(3.0)
    return Scene(keys, torch.eye(4) * math.log(9.0), torch.tensor([1]))
