"""Training a demo with Lightning: the best weights kept, the time foretold, Ctrl-C heeded."""

import ctypes
import logging
import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint, RichProgressBar
from lightning.pytorch.loggers import CSVLogger
from rich.console import Console

from core.data import DemoData
from core.demo import Demo
from core.evaluate import predict
from core.forming import Forming
from core.run import RunError, load_weights, save_weights

SCORE = "validation/score"
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Names of glibc's mallopt(3)."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """How long and how a demo is trained. `train_batches` and `eval_examples` shorten a run; None means all."""

    max_epochs: int
    budget_minutes: float | None = None
    precision: str = "auto"
    patience: int = 8
    gradient_clip: float = 1.0
    train_batches: int | None = None
    eval_examples: int | None = None
    map_examples: int = 8

    def __post_init__(self) -> None:
        for name in ("max_epochs", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)}")
        if self.budget_minutes is not None and self.budget_minutes <= 0:
            raise ValueError(f"budget_minutes must be above 0, or null for no budget; got {self.budget_minutes}")
        for name in ("train_batches", "eval_examples"):
            if (count := getattr(self, name)) is not None and count < 1:
                raise ValueError(f"{name} must be at least 1, or null for all; got {count}")
        for name in ("gradient_clip", "map_examples"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be below 0, which stands for none; got {getattr(self, name)}")
        if self.precision not in ("auto", "bf16-mixed", "32-true"):
            raise ValueError(f"precision must be auto, bf16-mixed or 32-true; got {self.precision!r}")


def fit(
    model: Demo, data: DemoData, training: Training, folder: Path, console: Console, *, resume: Path | None = None
) -> dict[str, object]:
    """Trains, leaves the best weights in the folder and in the model, and returns seconds, epochs and steps.

    `resume` is a checkpoint to go on from: with the next epoch's batches of an uninterrupted training, while dropout
    draws other numbers. An epoch that was cut short counts as done.

    Raises:
        RunError: as `epochs_trained`.
    """
    if resume:
        data.first_epoch = epochs_trained(resume, training)
    best = KeepBest(folder, data, training.eval_examples, console)
    forming = Forming(folder / "maps" / "forming", data, console)
    if training.budget_minutes is not None:
        model.budget_seconds = 60.0 * training.budget_minutes
    reuse_freed_memory()
    with quiet():
        trainer = make_trainer(training, folder, [best, forming], console)
        start = time.monotonic()
        with stop_on_interrupt(trainer, console):
            trainer.fit(model, datamodule=data, ckpt_path=resume, weights_only=True)
    seconds = time.monotonic() - start
    best.restore(model)
    return {
        "seconds": round(seconds, 1),
        "seconds_for_maps": round(forming.seconds, 2),
        "epochs": trainer.current_epoch,
        "best_epoch": best.epoch,
        "steps": trainer.global_step,
        "precision": trainer.precision,
    }


def make_trainer(training: Training, folder: Path, ours: Sequence[L.Callback], console: Console) -> L.Trainer:
    """Lightning's trainer, with our callbacks before its own: it stops early by a score that ours log."""
    precision: Any = best_precision() if training.precision == "auto" else training.precision
    return L.Trainer(
        max_epochs=training.max_epochs,
        precision=precision,
        gradient_clip_val=training.gradient_clip,
        limit_train_batches=training.train_batches,
        num_sanity_val_steps=0,
        callbacks=[
            *ours,
            EarlyStopping(monitor=SCORE, mode="max", patience=training.patience),
            ModelCheckpoint(
                dirpath=folder / "checkpoints",
                filename="last",
                enable_version_counter=False,
                save_on_train_epoch_end=True,
            ),
            *([RichProgressBar(leave=False)] if console.is_terminal else []),
        ],
        logger=CSVLogger(folder, name="log", version=""),
        enable_progress_bar=console.is_terminal,
        enable_model_summary=False,
        use_distributed_sampler=False,
        log_every_n_steps=10,
        devices=1,
    )


class KeepBest(L.Callback):
    """Scores the validation examples after each epoch, says so in a line, and keeps the weights of the best score."""

    def __init__(self, folder: Path, data: DemoData, examples: int | None, console: Console) -> None:
        self.path, self.data, self.console = folder / "model.safetensors", data, console
        self.examples = data.splits["validation"][:examples]
        self.score, self.epoch = float("-inf"), 0

    def on_validation_epoch_end(self, trainer: L.Trainer, model: Demo) -> None:
        with trainer.precision_plugin.forward_context():
            predictions = predict(model, self.data, self.examples)
        scores = self.data.scores(self.examples, predictions)
        score = scores[self.data.score_name].value
        model.log(SCORE, score)
        if score > self.score:
            self.score, self.epoch = score, trainer.current_epoch + 1
            save_weights(model, self.path, self.data.fingerprint())

    def on_validation_end(self, trainer: L.Trainer, model: Demo) -> None:
        metrics, epoch = trainer.callback_metrics, trainer.current_epoch + 1
        spent = time.monotonic() - model.started
        left = spent / max(model.progress(), 1e-6) - spent
        self.console.print(
            f"epoch {epoch:3d}  validation loss {metrics['validation/loss']:.3f}  "
            f"{self.data.score_name} {metrics[SCORE]:.2f}{' *' if epoch == self.epoch else '  '}  "
            f"{clock(spent)} spent, at most {clock(left)} left",
            highlight=False,
        )

    def state_dict(self) -> dict[str, Any]:
        return {"score": self.score, "epoch": self.epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.score, self.epoch = state_dict["score"], state_dict["epoch"]

    def restore(self, model: Demo) -> None:
        """The best weights, in the model again; those of now, where there was no validation yet."""
        if self.epoch:
            load_weights(model, self.path, self.data.fingerprint())
        else:
            save_weights(model, self.path, self.data.fingerprint())


def epochs_trained(checkpoint: Path, training: Training) -> int:
    """How many epochs a checkpoint has behind it.

    Raises:
        RunError: if it is missing or damaged, or has nothing left to train.
    """
    if not checkpoint.is_file():
        raise RunError(f"there is no checkpoint {checkpoint}: the run did not finish its first epoch")
    try:
        state = torch.load(checkpoint, weights_only=True, map_location="cpu", mmap=True)
        trained = state["loops"]["fit_loop"]["epoch_progress"]["current"]["processed"]
    except (RuntimeError, EOFError, OSError, KeyError, TypeError, ValueError, UnpicklingError) as error:
        raise RunError(f"damaged checkpoint {checkpoint}: {str(error).splitlines()[:1]}") from error
    if trained >= training.max_epochs:
        raise RunError(f"{checkpoint} has trained its {trained} epochs: to go on, give a larger trainer.max_epochs")
    return trained


def best_precision() -> str:
    """bfloat16 where the processor multiplies in it, and float32 everywhere else."""
    if torch.cuda.is_available():
        return "bf16-mixed" if torch.cuda.is_bf16_supported(including_emulation=False) else "32-true"
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()  # older releases cannot be asked
    return "bf16-mixed" if capabilities.get("amx_bf16") or capabilities.get("avx512_bf16") else "32-true"


def reuse_freed_memory() -> None:
    """Asks the C library to keep the memory it frees for the next batch (glibc only; elsewhere nothing happens).

    By default it hands every large block back to the system and gets it again page by page: a tenth of a step.
    """
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(ctypes.c_int(M_MMAP_MAX), ctypes.c_int(0))
        library.mallopt(ctypes.c_int(M_TRIM_THRESHOLD), ctypes.c_int(-1))


@contextmanager
def stop_on_interrupt(trainer: L.Trainer, console: Console) -> Iterator[None]:
    """The first Ctrl-C finishes the step and keeps the best so far; the second one ends the program at once."""

    def stop(number: int, frame: object) -> None:
        console.print("Stopping after this step; the best weights so far are kept. Ctrl-C again ends at once.")
        trainer.should_stop = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def quiet() -> Iterator[None]:
    """Lightning without its advice on workers, loggers and devices, which are chosen here."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="lightning.*")
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        try:
            for logger in loggers:
                logger.setLevel(logging.ERROR)
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds: 75 -> "1:15"."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
