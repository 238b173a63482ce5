"""A small speech run from the configuration to its folder, and what is then asked of it."""

import io
import json

import pytest
from speech import SIZES, SMALL, save, tone

from core.run import RunError, load
from tasks.speech import toy


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    from rich.console import Console
    from train import train

    from compose import compose

    screen = Console(file=io.StringIO(), width=200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "SIZES", SIZES)
        folder = train(compose([*SMALL, f"output={tmp_path_factory.mktemp('runs')}"]), screen)
    return folder, screen.file.getvalue()


def test_what_a_run_leaves(finished):
    folder, told = finished
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    wanted = {"WER", "CER", "perplexity", "mass within", "mass within, uniform", "steps forward"}
    assert wanted <= metrics["test"].keys() and any("faithfulness" in name for name in metrics["test"])
    assert metrics["attention"][0]["module"] == "decoder.gaze"
    assert (folder / "maps" / "001.png").stat().st_size > 5000 and (folder / "maps" / "maps.html").is_file()
    assert "transcripts with errors" in (folder / "alignment.txt").read_text(encoding="utf-8")
    assert "sample.wav" in told.partition("next")[2]


def test_sounds_of_ones_own(finished, tmp_path):
    run = load(finished[0])
    path = save(tmp_path / "my voice = {b}.flac", tone(0.5, 16000), 16000, format="FLAC")
    found, empty, sample = run.predict([path, "", str(finished[0] / "sample.wav")])
    assert found.input == path and "resampled from 16000 to 8000 Hz" in found.notices[0]
    assert not empty.output and "no sound" in empty.notices[0] and sample.output
    (map,), no_maps = run.maps([path, ""])
    assert not no_maps and map.shown.rate == 8000 and len(map.keys) == 13 and map.text["source"] == path
    (map,) = run.maps(path, forbid=["0-0.2"])[0]
    assert not map.weights[..., :5].any()
    for wrong in (tmp_path / "missing.wav", tmp_path):
        with pytest.raises(ValueError, match=wrong.name):
            run.predict(str(wrong))


def test_another_rate_or_vocabulary_is_refused(finished, tmp_path):
    import shutil

    for name, content in (("characters.json", '["a"]'), ("sound.json", '{"rate": 16000, "mels": 20}')):
        copy = tmp_path / name
        shutil.copytree(finished[0], copy)
        (copy / name).write_text(content, encoding="utf-8")
        with pytest.raises(RunError):
            load(copy)
