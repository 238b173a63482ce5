"""What every translation model is: a source is read once, and target tokens follow step by step."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from core.decode import Decoded, greedy
from core.demo import Demo
from core.text import Tokenizer
from tasks.translation.data import Batch

NEVER = (Tokenizer.PAD, Tokenizer.UNKNOWN, Tokenizer.START)


class Translation(Demo):
    """Reads a source (`encode`), and says what follows target tokens (`step`), one token or all of them in one call."""

    def __init__(
        self, *, label_smoothing: float, max_length: int, learning_rate: float, warmup_steps: int, weight_decay: float
    ) -> None:
        super().__init__(learning_rate=learning_rate, warmup_steps=warmup_steps, weight_decay=weight_decay)
        if not 0.0 <= label_smoothing < 1.0:
            raise ValueError(f"label_smoothing lies between 0 and 1, without 1; got {label_smoothing}")
        self.max_length, self.label_smoothing = max_length, label_smoothing
        self.decode: Callable[..., list[Decoded]] = greedy
        """How target tokens are chosen: `greedy`, or a partial of `sample` or `beam`."""

    @abstractmethod
    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B 1 S"]) -> Any:
        """Reads the source; returns the state before the first target token."""

    @abstractmethod
    def step(self, tokens: Int[Tensor, "B T"], state: Any) -> tuple[Float[Tensor, "B T V"], Any]:
        """Logits after each token, and the state after them."""

    def forward(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B 1 S"], target: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        logits, _ = self.step(target, self.encode(source, source_mask))
        return logits

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        logits = self(batch.source, batch.source_mask, batch.target[:, :-1])
        smoothing = self.label_smoothing if self.training else 0.0
        return F.cross_entropy(
            logits.flatten(0, 1), batch.target[:, 1:].flatten(), ignore_index=Tokenizer.PAD, label_smoothing=smoothing
        )

    def log_probabilities(self, batch: Batch) -> Float[Tensor, "B T"]:
        """Of each target token and of the end after them."""
        logits = self(batch.source, batch.source_mask, batch.target[:, :-1])
        return logits.float().log_softmax(dim=-1).gather(-1, batch.target[:, 1:, None]).squeeze(-1)

    def tokens(self, batch: Batch) -> int:
        return int((batch.target[:, 1:] != Tokenizer.PAD).sum())

    def generate(self, batch: Batch) -> list[Decoded]:
        """A translation of each row by `self.decode`, at most twice as long as the source and ten pieces more."""
        lengths = batch.source_mask.sum(dim=-1).squeeze(-1)
        limits = (2 * lengths + 10).clamp(max=self.max_length - 1)
        state = self.encode(batch.source, batch.source_mask)
        return self.decode(self.step, state, start=Tokenizer.START, end=Tokenizer.END, limits=limits, never=NEVER)
