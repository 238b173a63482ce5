"""Training: the best weights are kept, it ends in time, it heeds Ctrl-C, and a seed gives the same run again."""

import csv
import io
import json
import math
import signal
import time
from pathlib import Path

import pytest
import torch
from conftest import trained
from rich.console import Console
from tiny import Numbers, Tiny, weights

from core.training import KeepBest, Training, best_precision, clock, fit


def settings(**more) -> Training:
    return Training(**({"max_epochs": 3, "precision": "32-true"} | more))


def run(folder: Path, *, scores=(1.0,), model: Tiny | None = None, **more) -> tuple[Tiny, dict, str]:
    """A model trained on four batches an epoch, what `fit` returned, and what it said."""
    model, said = model or Tiny(), io.StringIO()
    data = Numbers(sizes=[5] * 8, tokens_per_batch=10, scores=scores)
    return model, fit(model, data, settings(**more), folder, Console(file=said, width=200)), said.getvalue()


class Remembering(Tiny):
    """Keeps its weights as they were after each epoch."""

    def __init__(self, **more) -> None:
        super().__init__(**more)
        self.history: list[torch.Tensor] = []

    def on_validation_start(self) -> None:
        self.history.append(self.weight.detach().clone())


def test_the_weights_of_the_best_score_are_kept(tmp_path):
    model, spent, said = run(tmp_path, scores=(1, 3, 2), model=Remembering())
    assert not torch.equal(model.history[1], model.history[2])
    assert torch.equal(model.weight, model.history[1])
    assert torch.equal(weights(tmp_path / "model.safetensors")["weight"], model.history[1])
    assert (spent["epochs"], spent["best_epoch"], spent["steps"], spent["precision"]) == (3, 2, 12, "32-true")
    assert [" *" in line for line in said.splitlines()] == [True, True, False]
    assert "epoch   2" in said and "score 3.00 *" in said


def test_of_equal_scores_the_first_is_kept(tmp_path):
    assert run(tmp_path, scores=(2, 2, 2))[1]["best_epoch"] == 1


def test_early_stopping(tmp_path):
    _, spent, said = run(tmp_path, scores=(3, 2, 1, 0), patience=2, max_epochs=50)
    assert (spent["best_epoch"], spent["steps"]) == (1, 12) and len(said.splitlines()) == 3


def test_curves_are_written(tmp_path):
    run(tmp_path, scores=(1, 3, 2))
    with open(tmp_path / "log" / "metrics.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["validation/score"]]
    assert [float(row["validation/score"]) for row in rows] == [1, 3, 2] and all(row["validation/loss"] for row in rows)


def test_train_batches_shorten_an_epoch(tmp_path):
    assert run(tmp_path, train_batches=3)[1]["steps"] == 9


def test_a_budget_ends_in_time_and_its_schedule_with_it(tmp_path):
    begun = time.monotonic()
    model, spent, said = run(tmp_path, budget_minutes=1.5 / 60, max_epochs=1000, patience=1000)
    assert 1.5 <= spent["seconds"] and time.monotonic() - begun < 6
    assert spent["steps"] > 20 and 0 <= model.trainer.optimizers[0].param_groups[0]["lr"] < 0.01 * model.learning_rate


def test_without_a_budget_the_schedule_ends_with_the_last_step(tmp_path):
    model, _, _ = run(tmp_path, max_epochs=5)
    assert model.trainer.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.0, abs=1e-9)


def test_the_rate_rises_in_a_line_and_falls_as_half_a_cosine(monkeypatch):
    model = Tiny(warmup_steps=4)
    monkeypatch.setattr(Tiny, "progress", lambda self: self.done)
    for step, done, expected in (
        (0, 0.0, 0.25),
        (2, 0.02, 0.75),
        (50, 0.5, 0.5),
        (50, 0.25, (1 + math.sqrt(0.5)) / 2),
        (99, 1.0, 0),
    ):
        model.done = done
        assert model.rate(step) == pytest.approx(expected)


def test_control_c_finishes_the_step_and_keeps_the_best(tmp_path):
    class Interrupted(Remembering):
        def on_train_batch_start(self, batch, number):
            if self.global_step == 5:
                signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    model, spent, said = run(tmp_path, scores=(1, 0), model=Interrupted(), max_epochs=50)
    assert "the best weights so far are kept" in said and spent["steps"] == 6 and spent["best_epoch"] == 1
    assert torch.equal(model.weight, model.history[0]) and signal.getsignal(signal.SIGINT) is before


def test_control_c_in_the_first_epoch_still_leaves_weights(tmp_path):
    class Interrupted(Tiny):
        def on_train_batch_start(self, batch, number):
            signal.raise_signal(signal.SIGINT)

    model, spent, _ = run(tmp_path, model=Interrupted(), max_epochs=50)
    assert spent["steps"] == 1 and torch.equal(weights(tmp_path / "model.safetensors")["weight"], model.weight)


def test_weights_are_there_even_without_a_validation(tmp_path):
    data, model = Numbers(sizes=[5], tokens_per_batch=10), Tiny()
    KeepBest(tmp_path, data, None, Console(file=io.StringIO())).restore(model)
    assert torch.equal(weights(tmp_path / "model.safetensors")["weight"], model.weight)


def test_no_decay_on_norms_and_biases(tmp_path):
    decayed, free = run(tmp_path, model=Tiny(weight_decay=0.3))[0].trainer.optimizers[0].param_groups
    assert (decayed["weight_decay"], free["weight_decay"]) == (0.3, 0.0)
    assert not decayed["params"] and [weight.dim() for weight in free["params"]] == [1]


def test_k06_the_same_seed_gives_the_same_run(finished, small_toy, tmp_path):
    again = trained(tmp_path)
    one, two = (weights(folder / "model.safetensors") for folder in (finished, again))
    assert all(torch.equal(one[name], two[name]) for name in one)
    found, expected = (
        json.loads((folder / "metrics.json").read_text(encoding="utf-8")) for folder in (again, finished)
    )
    assert found["test"] == expected["test"] and found["attention"] == expected["attention"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"max_epochs": 0}, "max_epochs must be at least 1; got 0"),
        ({"patience": 0}, "patience must be at least 1; got 0"),
        ({"budget_minutes": 0.0}, "budget_minutes must be above 0, or null for no budget; got 0.0"),
        ({"train_batches": 0}, "train_batches must be at least 1, or null for all; got 0"),
        ({"eval_examples": 0}, "eval_examples must be at least 1, or null for all; got 0"),
        ({"map_examples": -1}, "map_examples must not be below 0"),
        ({"gradient_clip": -1.0}, "gradient_clip must not be below 0"),
        ({"precision": "16"}, "precision must be auto, bf16-mixed or 32-true; got '16'"),
    ],
)
def test_impossible_settings(wrong, said):
    with pytest.raises(ValueError, match=said):
        settings(**wrong)


def test_impossible_rates():
    for wrong in ({"learning_rate": 0.0}, {"weight_decay": -0.1}):
        with pytest.raises(ValueError, match="learning_rate must be above 0 and weight_decay not below it"):
            Tiny(**wrong)


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({}, "32-true"),
        ({"amx_bf16": True}, "bf16-mixed"),
        ({"avx512_bf16": True}, "bf16-mixed"),
        ({"avx2": True}, "32-true"),
    ],
)
def test_bfloat16_where_the_processor_multiplies_in_it(monkeypatch, capabilities, expected):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: capabilities, raising=False)
    assert best_precision() == expected


@pytest.mark.parametrize(("seconds", "shown"), [(0.0, "0:00"), (75.0, "1:15"), (59.9, "0:59"), (3661.0, "61:01")])
def test_clock(seconds, shown):
    assert clock(seconds) == shown
