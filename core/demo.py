"""Demo: the model of a task as a LightningModule. What it computes is the task's; how it is trained is here."""

import math
import time
from abc import abstractmethod
from typing import Any, NamedTuple

import lightning as L
import torch
from jaxtyping import Float
from torch import Tensor


class Alternative(NamedTuple):
    """Another output of the same input."""

    output: str
    mean_log_probability: float | None


class Prediction(NamedTuple):
    """What a model makes of one input."""

    input: str
    output: str
    mean_log_probability: float | None
    """Of the generated tokens, in nats; None where nothing was generated."""
    notices: tuple[str, ...] = ()
    """What a reader should know: words never seen, an input or output that was cut."""
    alternatives: tuple[Alternative, ...] = ()
    """What else was found, best first, where more than one output was asked for."""


class Demo(L.LightningModule):
    """A model of a task. A task says what its loss is, how it generates, and which modules are its gaze."""

    def __init__(self, *, learning_rate: float, warmup_steps: int, weight_decay: float) -> None:
        super().__init__()
        if learning_rate <= 0 or weight_decay < 0:
            raise ValueError(
                f"learning_rate must be above 0 and weight_decay not below it; got {learning_rate} and {weight_decay}"
            )
        self.learning_rate, self.warmup_steps, self.weight_decay = learning_rate, warmup_steps, weight_decay
        self.budget_seconds = math.inf
        self.started = math.inf
        self.seconds_before = 0.0

    @abstractmethod
    def loss(self, batch: Any) -> Float[Tensor, ""]:
        """The mean loss of a batch in nats; label smoothing and the like act only while training."""

    @abstractmethod
    def tokens(self, batch: Any) -> int:
        """How many predictions the loss is a mean over."""

    @abstractmethod
    def log_probabilities(self, batch: Any) -> Float[Tensor, "B Q"]:
        """Of the outputs that a batch forces, in nats: one for each query of the modules that `explains` names."""

    @abstractmethod
    def generate(self, batch: Any) -> list[Any]:
        """What the model makes of each row of a batch."""

    @property
    @abstractmethod
    def gaze(self) -> list[str]:
        """Dotted names of the attention modules that are the point of the task."""

    @property
    def explains(self) -> list[str]:
        """Those modules of the gaze that say what the outputs rest on, all over the same keys: the ones whose looks
        can be forbidden and tried for faithfulness."""
        return self.gaze

    def beside(self, batch: Any) -> dict[str, Float[Tensor, "B Q K"]]:
        """Weights over the same keys that are shown beside the gaze, by what they are called: no looks of the model's,
        but what its looks can be compared with. `origin["beside"]` of their maps says so."""
        return {}

    def training_step(self, batch: Any, number: int) -> Tensor:
        loss = self.loss(batch)
        self.log("train/loss", loss, prog_bar=True, batch_size=self.tokens(batch))
        return loss

    def validation_step(self, batch: Any, number: int) -> None:
        self.log("validation/loss", self.loss(batch), batch_size=self.tokens(batch))

    def on_train_start(self) -> None:
        self.started = time.monotonic() - self.seconds_before

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["seconds"] = time.monotonic() - self.started

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """A resumed training has used up the part of its budget that it used before."""
        self.seconds_before = checkpoint["seconds"]

    def progress(self) -> float:
        """How much of the training is done, from 0 to 1: by its steps, or by the clock where that is further."""
        steps = self.global_step / max(1, self.trainer.estimated_stepping_batches)
        return min(1.0, max(steps, (time.monotonic() - self.started) / self.budget_seconds))

    def on_train_batch_end(self, outputs: Any, batch: Any, number: int) -> None:
        if self.progress() >= 1.0:
            self.trainer.should_stop = True

    def configure_optimizers(self) -> dict[str, Any]:
        """AdamW without decay on norms and biases; the learning rate rises in a line, then falls as half a cosine."""
        weights = [parameter for parameter in self.parameters() if parameter.requires_grad]
        groups = [
            {"params": [w for w in weights if w.dim() > 1], "weight_decay": self.weight_decay},
            {"params": [w for w in weights if w.dim() <= 1], "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=self.learning_rate, betas=(0.9, 0.98), fused=True)
        # A plain function: of a method, LambdaLR would keep the attributes in every checkpoint.
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: self.rate(step))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(
        self, optimizer: Any, gradient_clip_val: float | None = None, gradient_clip_algorithm: str | None = None
    ) -> None:
        """Clips by the norm. Lightning's own refuses beside a fused optimiser: loss scaling would be undone twice, but
        bfloat16 needs none."""
        if gradient_clip_val:
            torch.nn.utils.clip_grad_norm_(self.parameters(), gradient_clip_val)

    def rate(self, step: int) -> float:
        """The share of the learning rate at a step."""
        rise = (step + 1) / max(1, self.warmup_steps)
        return min(rise, 0.5 * (1.0 + math.cos(math.pi * min(1.0, self.progress()))))
