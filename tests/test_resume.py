"""Case K04: a training that goes on is the training that was never interrupted; and what cannot go on is told."""

import io
from pathlib import Path

import pytest
import torch
from rich.console import Console
from tiny import Numbers, Tiny, weights

from core.run import RunError
from core.training import Training, epochs_trained, fit

EPOCHS = 4


class Interrupted(Tiny):
    """Somebody presses Ctrl-C in the second epoch's validation."""

    def on_validation_end(self) -> None:
        if self.trainer.current_epoch == 1:
            self.trainer.should_stop = True


def train(folder: Path, model: Tiny, *, resume: bool = False, scores=(1.0,), max_epochs: int = EPOCHS) -> dict:
    data = Numbers(sizes=range(1, 13), tokens_per_batch=20, scores=scores, seed=3)
    settings = Training(max_epochs=max_epochs, precision="32-true")
    checkpoint = folder / "checkpoints" / "last.ckpt"
    return fit(model, data, settings, folder, Console(file=io.StringIO()), resume=checkpoint if resume else None)


def test_it_goes_on_as_if_nothing_had_been(tmp_path):
    whole, first, second = Tiny(), Interrupted(), Tiny()
    folders = [tmp_path / name for name in ("whole", "parts")]
    for folder in folders:
        folder.mkdir()
    expected = train(folders[0], whole, scores=(1, 2, 3, 4))
    assert train(folders[1], first, scores=(1, 2))["epochs"] == 2
    found = train(folders[1], second, resume=True, scores=(3, 4))
    assert first.seen + second.seen == whole.seen
    assert (found["epochs"], found["best_epoch"], found["steps"]) == (EPOCHS, EPOCHS, expected["steps"])
    for name, tensor in weights(folders[0] / "model.safetensors").items():
        assert torch.equal(tensor, weights(folders[1] / "model.safetensors")[name])


def test_an_epoch_that_was_cut_short_counts_as_done(tmp_path):
    class CutShort(Tiny):
        def on_train_batch_start(self, batch, number):
            if self.global_step == 8:
                self.trainer.should_stop = True

    first, second, whole = CutShort(), Tiny(), Tiny()
    assert train(tmp_path, first)["epochs"] == 2 and len(first.seen) == 9
    train(tmp_path, second, resume=True)
    (tmp_path / "whole").mkdir()
    train(tmp_path / "whole", whole)
    assert second.seen == whole.seen[12:]


def test_a_better_score_from_before_stays_the_best(tmp_path):
    train(tmp_path, Interrupted(), scores=(1, 9))
    kept = weights(tmp_path / "model.safetensors")
    assert train(tmp_path, Tiny(), resume=True, scores=(3, 4))["best_epoch"] == 2
    assert all(torch.equal(tensor, kept[name]) for name, tensor in weights(tmp_path / "model.safetensors").items())


def test_the_clock_goes_on_too(tmp_path):
    train(tmp_path, Interrupted())
    later = Tiny()
    later.on_load_checkpoint({"seconds": 100.0})
    later.on_train_start()
    spent: dict = {}
    later.on_save_checkpoint(spent)
    assert 100.0 <= spent["seconds"] < 101.0


def test_what_is_finished_says_how_to_go_on(tmp_path):
    train(tmp_path, Tiny(), max_epochs=2)
    with pytest.raises(RunError, match=r"has trained its 2 epochs: to go on, give a larger trainer.max_epochs"):
        epochs_trained(tmp_path / "checkpoints" / "last.ckpt", Training(max_epochs=2))
    assert train(tmp_path, Tiny(), resume=True, max_epochs=3)["epochs"] == 3


@pytest.mark.parametrize("left", [None, 0, 0.5])
def test_k05_a_missing_or_damaged_checkpoint_is_named(tmp_path, left):
    checkpoint = tmp_path / "checkpoints" / "last.ckpt"
    if left is not None:
        train(tmp_path, Tiny(), max_epochs=1)
        whole = checkpoint.read_bytes()
        checkpoint.write_bytes(whole[: int(left * len(whole))])
    with pytest.raises(RunError, match="there is no checkpoint" if left is None else "damaged checkpoint") as caught:
        epochs_trained(checkpoint, Training(max_epochs=9))
    assert str(checkpoint) in str(caught.value)


def test_k01_a_checkpoint_that_runs_code_is_refused(tmp_path):
    marker = tmp_path / "marker"

    class Trap:
        def __reduce__(self):
            return Path.touch, (marker,)

    torch.save({"loops": Trap()}, tmp_path / "last.ckpt")
    with pytest.raises(RunError, match="damaged checkpoint"):
        epochs_trained(tmp_path / "last.ckpt", Training(max_epochs=9))
    assert not marker.exists()
