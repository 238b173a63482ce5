"""A small run of classification from the configuration to its folder, and what is then asked of it."""

import io
import json

import pytest

from core.run import load
from tasks.classification import toy

SMALL = "task=classification data=toy trainer=smoke model.width=16 model.buckets=50 trainer.precision=32-true".split()
SIZES = {"train": 60, "validation": 12, "test": 12}
TEXT = "the acting was hardly dull, but dinner was awful"


def trained(output, *more: str):
    from rich.console import Console
    from train import train

    from compose import compose

    screen = Console(file=io.StringIO(), width=200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "SIZES", SIZES)
        folder = train(compose([*SMALL, f"output={output}", *more]), screen)
    return folder, screen.file.getvalue()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("runs"))


def test_what_a_run_leaves(finished):
    folder, told = finished
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    wanted = {"accuracy", "macro-F1", "calibration error", "mass on deciding words", "mass on deciding words, uniform"}
    assert wanted <= metrics["test"].keys()
    assert (folder / "confusion.png").stat().st_size > 5000 and (folder / "maps" / "maps.html").is_file()
    assert metrics["sample"][0] in told.partition("next")[2]


def test_a_text_of_ones_own_and_a_forbidden_word(finished):
    run = load(finished[0])
    (found,) = run.predict(TEXT)
    (maps,) = run.maps(TEXT)
    assert found.output in toy_labels(run) and [map.name for map in maps] == ["pooling.attention", "leave-one-out"]
    assert maps[0].keys == tuple(TEXT.replace(",", " ,").split()) and maps[0].text["prediction"] == found.output
    (without,) = run.maps(TEXT, forbid=["hardly"])
    assert without[0].weights[0, 0, 3] == 0 and without[0].weights.sum() == pytest.approx(1, abs=1e-3)
    with pytest.raises(ValueError, match="'nowhere' is no word of"):
        run.maps(TEXT, forbid=["nowhere"])


def test_max_pooling_predicts_and_has_no_maps(tmp_path):
    folder, told = trained(tmp_path, "attention=max")
    assert "it has no attention" in told and not (folder / "maps" / "maps.html").exists()
    run = load(folder)
    assert run.predict(TEXT)[0].output in toy_labels(run) and run.maps(TEXT) == [[]]
    with pytest.raises(ValueError, match="no attention that could be forbidden"):
        run.maps(TEXT, forbid=["hardly"])


def toy_labels(run) -> list[str]:
    return run.data.words.labels
