"""A small run of generation from the configuration to its folder, and what is then asked of it."""

import io
import json
import shutil

import pytest
from generation import SIZES, SMALL

from core.run import RunError, load
from tasks.generation import toy


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
    wanted = {"loss", "bits a character", "perplexity", "recall accuracy", "induction score", "induction score, chance"}
    assert wanted <= metrics["test"].keys()
    assert metrics["test"]["induction score"]["signature"].startswith("layer ")
    assert {row["head"] for row in metrics["attention"]} == {f"layer {n} head {m}" for n in (1, 2) for m in (1, 2)}
    assert any("faithfulness, forbidden" in name for name in metrics["test"])
    assert (folder / "maps" / "maps.html").is_file() and "toy, test split" in told


def test_a_prompt_its_maps_and_a_forbidden_word(finished):
    run = load(finished[0])
    found, empty = run.predict(["a3f7k2.f", ""])
    assert len(found.output) == 16 and empty.output == ""
    (first, second), no_maps = run.maps(["a3f7k2.f", ""])
    assert not no_maps and first.queries == tuple("a3f7k2.f" + found.output)[:-1] and first.name == "layers.0.attention"
    assert second.text["prediction"] == found.output
    (maps, _) = run.maps("a3f7k2.f", forbid=["f7"])[0]
    assert not maps.weights[..., [2, 3]].any() and maps.weights[..., 4:, :].sum(-1).min() == pytest.approx(1, abs=1e-3)
    with pytest.raises(ValueError, match="does not stand in"):
        run.maps("abc", forbid=["xyz"])


def test_text_is_told_while_it_is_generated(finished):
    run, parts = load(finished[0]), []
    found = run.aloud("a3f7k2.f", parts.append)
    assert "".join(parts) == found.output == run.predict("a3f7k2.f")[0].output and len(parts) == 16
    assert run.aloud("", parts.append).output == "" and len(parts) == 16


def test_predict_streams_and_takes_a_length(finished, capsys):
    from predict import main

    main([str(finished[0]), "a3f7k2.f", "", "--length", "4", "--sample", "--seed", "3"])
    out, err = capsys.readouterr()
    assert [len(line) for line in out.split("\n")] == [4, 0, 0] and "the prompt is empty" in err
    main([str(finished[0]), "a3f7k2.f", "--length", "4", "--beam", "2", "--nbest", "2", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert len(found["output"]) == 4 and len(found["alternatives"]) == 1


@pytest.mark.parametrize("words, message", [(["--length", "0"], "at least 1"), (["--nbest", "2"], "--beam")])
def test_options_that_do_not_fit(finished, words, message):
    from predict import main

    from compose import ConfigError

    with pytest.raises(ConfigError, match=message):
        main([str(finished[0]), "a", *words])


def test_another_vocabulary_is_refused(finished, tmp_path):
    shutil.copytree(finished[0], tmp_path / "run")
    (tmp_path / "run" / "characters.json").write_text('["a", "b"]')
    with pytest.raises(RunError, match="another"):
        load(tmp_path / "run")


def test_a_text_of_ones_own(tmp_path):
    from generation import LINES

    (tmp_path / "own.txt").write_text("".join(LINES), encoding="utf-8")
    numbers = ["data=text", f"data.path={tmp_path / 'own.txt'}", "data.steps=2", "data.tokens_per_batch=64"]
    folder, told = trained(tmp_path, *numbers, "model.context=16", "data.length=5", "data.pieces=50")
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["training"]["steps"] == 2 and metrics["test"]["induction score"]["value"] >= 0
    assert metrics["data"]["counts"]["test.tokens"] < metrics["data"]["counts"]["test.characters"]
    assert "the cat" in told.partition("next")[2]
    assert load(folder).predict("the cat")[0].output


def test_a_recipe_of_long_contexts_through_windows(tmp_path):
    local = ["attention=local", "attention.before=8", "model.positions=learned"]
    folder, _ = trained(tmp_path, *local)
    (maps, _) = load(folder).maps("a3f7k2.f")[0]
    rows = maps.weights[0]
    assert all(not rows[row, : max(0, row - 8)].any() and not rows[row, row + 1 :].any() for row in range(len(rows)))
