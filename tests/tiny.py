"""A task with nothing to it: its examples are numbers, its scores are told beforehand. For tests of the training."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from core.data import DemoData
from core.demo import Demo, Prediction
from core.metrics import Score


class Numbers(DemoData):
    score_name = "score"

    def __init__(self, *, sizes: Sequence[int], tokens_per_batch: int, scores: Sequence[float] = (1.0,), seed: int = 0):
        super().__init__(tokens_per_batch=tokens_per_batch, seed=seed)
        self.sizes, self.script = sizes, list(scores)
        self.splits = {"train": list(range(len(sizes))), "validation": [0, 1], "test": [0, 1]}
        self.validated = 0

    def size(self, example: int) -> int:
        return self.sizes[example]

    def collate(self, examples: Sequence[int]) -> Tensor:
        return torch.tensor(examples)

    def predictions(self, examples: Sequence[int], generated: Sequence[float]) -> list[Prediction]:
        return [Prediction(str(example), str(each), None) for example, each in zip(examples, generated, strict=True)]

    def scores(self, examples: Sequence[int], predictions: Sequence[Prediction]) -> dict[str, Score]:
        """The next score of the script; its last one for ever."""
        self.validated += 1
        return {"score": Score(self.script[min(self.validated, len(self.script)) - 1], "as told")}

    def fingerprint(self) -> dict[str, str]:
        return {"vocabulary": "numbers"}


class Tiny(Demo):
    """Remembers every training batch that it saw."""

    def __init__(self, *, learning_rate: float = 0.1, warmup_steps: int = 1, weight_decay: float = 0.0) -> None:
        super().__init__(learning_rate=learning_rate, warmup_steps=warmup_steps, weight_decay=weight_decay)
        self.weight = nn.Parameter(torch.zeros(3))
        self.seen: list[list[int]] = []

    def loss(self, batch: Tensor) -> Tensor:
        if self.training:
            self.seen.append(batch.tolist())
        return (self.weight - 100.0).square().mean()

    def tokens(self, batch: Tensor) -> int:
        return len(batch)

    def generate(self, batch: Tensor) -> list[float]:
        return [float(self.weight[0])] * len(batch)

    @property
    def gaze(self) -> list[str]:
        return []


def weights(path: Path) -> dict[str, Tensor]:
    from safetensors.torch import load_file

    return load_file(path)
