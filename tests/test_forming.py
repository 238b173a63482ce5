"""Watching attention form: maps of the same examples after every epoch, and an alarm."""

import json
from dataclasses import replace
from unittest.mock import Mock

import lightning as L
import numpy as np
import pytest
import torch
from copier import Copier, Scenes, scene
from rich.console import Console

from core.forming import HELP, Forming, reference_maps, troubles
from core.maps import AttentionMap


def moment(epoch: int, step: int) -> Mock:
    """What a callback asks of a trainer."""
    return Mock(spec=L.Trainer, current_epoch=epoch, global_step=step)


@pytest.fixture
def data():
    found = Scenes(scene())
    found.splits["validation"] = [scene()] * 5
    return found


class Blind(Copier):
    """Looks everywhere alike."""

    def logits(self, batch):
        keys, values, said = batch
        return self.look(torch.zeros(len(keys), said.shape[-1], keys.shape[-1]), keys, values)


def test_three_examples_are_kept_after_each_epoch(tmp_path, data):
    forming = Forming(tmp_path, data, Console(quiet=True))
    for epoch in (0, 1):
        forming.on_validation_end(moment(epoch, 10), Copier())
    listed = json.loads((tmp_path / "epoch-002" / "maps.json").read_text())["maps"]
    assert [each["example"] for each in listed] == [1, 2, 3] and listed[0]["origin"]["step"] == "epoch 2"
    kept = AttentionMap.load(tmp_path / "epoch-002" / listed[0]["file"])
    assert np.allclose(kept.weights[0, 0], [1 / 6, 1 / 2, 1 / 6, 1 / 6])
    assert sum(path.stat().st_size for path in (tmp_path / "epoch-001").iterdir()) < 8_000
    assert forming.seconds > 0


def test_a_forced_reference_is_no_prediction(data, monkeypatch):
    plain = Scenes.maps
    texts = {"source": "a", "prediction": "b", "reference": "b"}
    monkeypatch.setattr(Scenes, "maps", lambda *given: [replace(map, text=texts) for map in plain(*given)])
    assert reference_maps(Copier(), data)[0][0].text == {"source": "a", "reference": "b"}


def test_a_uniform_gaze_is_told_once(tmp_path, data, capsys):
    forming = Forming(tmp_path, data, Console(width=400))
    for epoch, step in enumerate((599, 600, 1200)):
        forming.on_validation_end(moment(epoch, step), Blind())
    said = capsys.readouterr().out
    assert said.count("every head still looks everywhere alike (100% of the entropy)") == 1 and HELP in said


def test_no_better_than_the_baseline_is_told(data, monkeypatch):
    monkeypatch.setattr(data, "not_aligning", lambda maps: f"{len(list(maps(data.splits['test'])))} example says so")
    assert troubles(Copier(), data, reference_maps(Copier(), data)) == [
        "after 600 steps the gaze is not aligning: 1 example says so"
    ]


def test_a_gaze_that_took_shape_is_left_in_peace(data):
    assert troubles(Copier(), data, reference_maps(Copier(), data)) == []
