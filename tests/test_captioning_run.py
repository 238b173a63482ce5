"""A small captioning run from the configuration to its folder, and what is then asked of it."""

import io
import json
import shutil

import pytest
from captioning import SIZES, SMALL, picture, tiny_encoder

from core.run import RunError, load
from tasks.captioning import encoders, toy

ENCODER = ["model=pretrained", "model.encoder=tiny"]


def trained(output, *more: str):
    from rich.console import Console
    from train import train

    from compose import compose

    screen = Console(file=io.StringIO(), width=200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "SIZES", SIZES)
        patch.setattr(encoders, "encoder_or_packaged", lambda name: tiny_encoder("instead"))
        folder = train(compose([*SMALL, f"output={output}", *more]), screen)
    return folder, screen.file.getvalue()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("runs"), "attention=additive")


@pytest.fixture(scope="module")
def with_features(tmp_path_factory):
    output = tmp_path_factory.mktemp("features")
    return trained(output, *ENCODER, f"data.features={output / 'kept'}")


@pytest.fixture
def file(tmp_path) -> str:
    path = tmp_path / "a dog = {b}.png"
    picture(1).save(path)
    return str(path)


def test_what_a_run_leaves(finished):
    folder, told = finished
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert {"BLEU-1", "BLEU-4", "perplexity", "pointing", "pointing, centre"} <= metrics["test"].keys()
    assert any("faithfulness, replaced" in name for name in metrics["test"])
    assert metrics["attention"][0]["combined"] == "mean of words"
    assert (folder / "maps" / "001.png").stat().st_size > 5000 and (folder / "maps" / "maps.html").is_file()
    assert "sample.png" in told and "toy test 0" not in told.partition("next")[2]


def test_a_picture_of_ones_own(finished, file):
    run = load(finished[0])
    found, empty = run.predict([file, ""])
    assert found.input == file and found.output and not empty.output and "no picture" in empty.notices[0]
    (maps,), no_maps = run.maps([file, ""])
    assert not no_maps and maps.shown.pixels.shape == (20, 30, 3) and maps.keys[-1] == "r4c4"
    assert maps.text["source"] == file and maps.text["prediction"] == found.output


def test_the_sample_of_the_test_split_can_be_read_again(finished):
    run = load(finished[0])
    (maps,) = run.maps(str(finished[0] / "sample.png"))[0]
    assert maps.shown.pixels.shape == (64, 64, 3)


def test_cells_may_be_forbidden_and_words_are_refused(finished, file):
    run = load(finished[0])
    (maps,) = run.maps(file, forbid=["r1c1", "0.5,0.5,1,1"])[0]
    forbidden = [0, 10, 11, 14, 15]
    assert not maps.weights[..., forbidden].any() and maps.weights.sum() == pytest.approx(len(maps.queries), abs=1e-3)
    with pytest.raises(ValueError, match="no words in a picture"):
        run.maps(file, forbid=["dog"])


def test_broken_input_is_an_error_with_its_path(finished, tmp_path):
    (tmp_path / "x.jpg").write_text("text")
    for path in (tmp_path / "x.jpg", tmp_path / "missing.jpg"):
        with pytest.raises(ValueError, match=path.name):
            load(finished[0]).predict(str(path))


def test_the_encoder_of_a_run_is_recorded_and_asked_for(with_features, file, monkeypatch):
    folder, told = with_features
    assert "features by instead (the weights of tiny cannot be had)" in told
    kept = json.loads((folder / "encoder.json").read_text())
    assert kept["asked"] == "tiny" and kept["used"]["name"] == "instead"
    monkeypatch.setattr(encoders, "encoder", lambda name: tiny_encoder(name))
    assert load(folder).predict(file)[0].output
    monkeypatch.setattr(encoders, "encoder", lambda name: tiny_encoder(name, seed=1))
    with pytest.raises(ValueError, match="other weights of instead"):
        load(folder).predict(file)


def test_another_vocabulary_or_encoder_is_refused(finished, with_features, tmp_path):
    for name, source in (("tokenizer.model", with_features[0]), ("encoder.json", with_features[0])):
        copy = tmp_path / name
        shutil.copytree(finished[0], copy)
        content = b"" if name == "tokenizer.model" else (source / name).read_bytes()
        (copy / name).write_bytes(content)
        with pytest.raises(RunError):
            load(copy)
    (tmp_path / "encoder.json" / "encoder.json").unlink()
    with pytest.raises(RunError, match="encoder.json"):
        load(tmp_path / "encoder.json")
