"""A run folder: made for one run alone, written whole or not at all, read back without running anybody's code."""

import json
import multiprocessing
import os
import re
import shutil
import stat
from datetime import datetime
from pathlib import Path

import pytest
import torch
import yaml
from conftest import SENTENCES
from safetensors.torch import load_file, save_file
from tiny import Tiny

import core.run
from core.files import whole_file
from core.run import Run, RunError, load, load_weights, make_folder, mark_latest, save_weights, write_json
from core.text import Tokenizer

NOON = datetime(2026, 1, 2, 12, 0, 0)
PRINT = {"vocabulary": "numbers"}


@pytest.fixture
def copy(finished, tmp_path) -> Path:
    """A copy of the finished run, to be changed at will."""
    return Path(shutil.copytree(finished, tmp_path / "translation" / finished.name))


def change(run: Path, **values) -> None:
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    (run / "config.yaml").write_text(yaml.safe_dump(config | values), encoding="utf-8")


class TestMakingAFolder:
    @pytest.fixture(autouse=True)
    def noon(self, monkeypatch):
        class Clock(datetime):
            @classmethod
            def now(cls, tz=None):
                return NOON

        monkeypatch.setattr(core.run, "datetime", Clock)

    def test_c03_two_runs_of_one_second(self, tmp_path):
        names = [make_folder(str(tmp_path), "task", suffix="-toy").name for _ in range(3)]
        assert names == ["2026-01-02_12-00-00-toy", "2026-01-02_12-00-00-toy-2", "2026-01-02_12-00-00-toy-3"]

    @pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot be forked here")
    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_c03_two_runs_at_once(self, tmp_path):
        with multiprocessing.get_context("fork").Pool(4) as pool:
            folders = pool.starmap(make_folder, [(str(tmp_path), "task")] * 16, chunksize=1)
        assert len(set(folders)) == 16 and all(folder.is_dir() for folder in folders)

    @pytest.mark.parametrize("file", ["output", "output/task"])
    def test_k05_a_parent_that_is_a_file(self, tmp_path, file):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("a file")
        with pytest.raises(RunError, match=f"^output={tmp_path}/output: ") as caught:
            make_folder(f"{tmp_path}/output", "task")
        assert str(tmp_path / "output" / "task") in str(caught.value)

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
    def test_k05_a_parent_without_permission(self, tmp_path):
        tmp_path.chmod(0o500)
        with pytest.raises(RunError, match="Permission denied. Choose another: output=DIR"):
            make_folder(str(tmp_path), "task")

    @pytest.mark.parametrize("links", [True, False])
    def test_latest_points_at_the_newest(self, tmp_path, links, monkeypatch):
        if not links:
            monkeypatch.setattr(Path, "symlink_to", lambda *_, **__: (_ for _ in ()).throw(OSError("no privilege")))
        for _ in range(2):
            folder = make_folder(str(tmp_path), "task")
            (folder / "config.yaml").touch()
            mark_latest(folder)
        latest = tmp_path / "task" / "latest"
        assert latest.is_symlink() == links and core.run.find(latest).resolve() == folder.resolve()
        assert folder.name.endswith("-2") and len(list(latest.parent.iterdir())) == 3


class TestWriting:
    def test_k05_a_failure_leaves_what_was_there_and_nothing_else(self, tmp_path):
        write_json({"a": "ü"}, tmp_path / "file.json")
        with pytest.raises(RuntimeError), whole_file(tmp_path / "file.json") as file:
            file.write(b"half")
            raise RuntimeError
        with pytest.raises(OSError), whole_file(tmp_path / "nowhere" / "other.json"):
            pass
        assert [path.name for path in tmp_path.iterdir()] == ["file.json"]
        assert json.loads((tmp_path / "file.json").read_text(encoding="utf-8")) == {"a": "ü"}

    def test_others_may_read_it_as_they_may_read_any_new_file(self, tmp_path):
        (tmp_path / "usual").touch()
        write_json({}, tmp_path / "file.json")
        save_weights(Tiny(), tmp_path / "weights", PRINT)
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert len(modes) == 1


class TestWeights:
    @pytest.fixture
    def saved(self, tmp_path) -> Path:
        model = Tiny()
        torch.nn.init.normal_(model.weight)
        save_weights(model, tmp_path / "model.safetensors", PRINT)
        return tmp_path / "model.safetensors"

    def refusal(self, path: Path, *, fingerprint=PRINT) -> str:
        model = Tiny()
        with pytest.raises(RunError) as caught:
            load_weights(model, path, fingerprint)
        assert not model.weight.any(), "nothing may be loaded of what is refused"
        return str(caught.value)

    def test_a_round_trip(self, saved):
        model = Tiny()
        load_weights(model, saved, PRINT)
        assert model.weight.any() and torch.equal(model.weight, load_file(saved)["weight"])

    def test_none_there(self, tmp_path):
        assert "there are no weights at" in self.refusal(tmp_path / "model.safetensors")

    @pytest.mark.parametrize("share", [0.5, 0.0, 0.98])
    def test_k05_damaged(self, saved, share):
        whole = saved.read_bytes()
        saved.write_bytes(whole[: int(len(whole) * share)])
        assert self.refusal(saved).startswith(f"damaged weights {saved}: ")

    def test_k03_without_the_prefix_or_of_other_shapes(self, saved):
        for weights, said in (
            ({"model.weight": torch.ones(3)}, "missing ['weight(3,)'], not known ['model.weight(3,)']"),
            ({"weight": torch.ones(4)}, "missing ['weight(3,)'], not known ['weight(4,)']"),
            ({}, "missing ['weight(3,)'], not known []"),
            ({"weight": torch.ones(3), "more": torch.ones(1)}, "missing [], not known ['more(1,)']"),
        ):
            save_file(weights, saved, PRINT)
            assert said in self.refusal(saved)

    def test_k03_another_vocabulary(self, saved):
        said = self.refusal(saved, fingerprint={"vocabulary": "letters"})
        assert "another vocabulary than the one beside it (numbers and letters)" in said
        save_file({"weight": torch.ones(3)}, saved)
        assert "(None and numbers)" in self.refusal(saved)


class TestWhatIsNoRun:
    def refusal(self, run: Path) -> str:
        with pytest.raises(RunError) as caught:
            load(run)
        return str(caught.value)

    def test_k03_a_path_that_does_not_exist_lists_runs_near_by(self, copy):
        near = str(copy)
        assert near in self.refusal(copy.parent / "nothing")
        assert near in self.refusal(copy.parent) and near in self.refusal(copy.parent.parent)
        assert "Train one: python scripts/train.py" in self.refusal(copy / "maps" / "deeper" / "nothing")

    def test_k03_the_weights_of_another_model(self, copy):
        change(copy, model=yaml.safe_load((copy / "config.yaml").read_text())["model"] | {"width": 32})
        assert "holds another model's weights: missing ['embedding.weight(" in self.refusal(copy)

    def test_k03_a_vocabulary_with_two_entries_swapped(self, copy):
        path = copy / "tokenizer.model"
        before = Tokenizer.load(path)
        path.write_bytes(swapped(path.read_bytes(), "▁the", "▁der"))
        after = Tokenizer.load(path)
        assert before.size == after.size and before.encode("the") == after.encode("der") != before.encode("der")
        assert "was trained with another vocabulary" in self.refusal(copy)

    @pytest.mark.parametrize("content", [None, b"", b"no model"])
    def test_k03_a_missing_or_damaged_vocabulary(self, copy, content):
        (copy / "tokenizer.model").unlink()
        if content is not None:
            (copy / "tokenizer.model").write_bytes(content)
        assert str(copy / "tokenizer.model") in self.refusal(copy)

    def test_k05_a_run_that_was_stopped_before_its_first_validation(self, copy):
        (copy / "model.safetensors").unlink()
        assert "did not finish its first validation" in self.refusal(copy)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "no configuration of a run"),
            ("- a\n- b", "no configuration of a run"),
            ("just text", "no configuration of a run"),
            ("task: translation\ndata: {}", "no configuration of a run"),
            ("data: {}\nmodel: {}", "cannot be read back: data is dict and model is dict"),
            ("data: [1\nmodel", "cannot read"),
            ("\x07", "cannot read"),
        ],
    )
    def test_a_configuration_of_something_else(self, copy, text, said):
        (copy / "config.yaml").write_text(text, encoding="utf-8")
        message = self.refusal(copy)
        assert said in message and str(copy) in message

    def test_a_configuration_whose_classes_take_other_keys(self, copy):
        config = yaml.safe_load((copy / "config.yaml").read_text(encoding="utf-8"))
        for key, value in (("widht", 3), ("dropout", 7), ("heads", 5), ("width", "wide"), ("hidden", -1)):
            change(copy, model=config["model"] | {key: value})
            assert "cannot be read back" in self.refusal(copy)
        change(copy, model=config["data"])
        assert "data is ToyTranslation and model is ToyTranslation" in self.refusal(copy)

    def test_k01_yaml_that_makes_objects(self, copy, monkeypatch):
        marker = copy.parent / "marker"
        with open(copy / "config.yaml", "a", encoding="utf-8") as file:
            file.write(f"more: !!python/object/apply:os.mkdir ['{marker}']\n")
        assert "python/object/apply:os.mkdir" in self.refusal(copy) and not marker.exists()

    @pytest.mark.parametrize("place", ["data", "model", "attention", "trainer"])
    @pytest.mark.parametrize(
        ("target", "arguments"),
        [
            ("os.mkdir", {"path": "MARKER"}),
            ("core.run.os.mkdir", {"path": "MARKER"}),
            ("core.run.shutil.copy", {"src": "config.yaml", "dst": "MARKER"}),
            ("core.run.json.dumps", {"obj": 1}),
            ("core.run.Path", {}),
            ("core.run.make_folder", {"output": "MARKER", "task": "x"}),
            ("builtins.open", {"file": "MARKER", "mode": "w"}),
            ("core.no.such.Class", {}),
            ("core.run.", {}),
            ("core.", {}),
            ("open", {"file": "MARKER", "mode": "w"}),
            (7, {}),
            (None, {}),
        ],
        ids=lambda value: str(value) if not isinstance(value, dict) else "",
    )
    def test_k01_a_target_that_is_no_class_of_ours(self, copy, place, target, arguments):
        marker = copy.parent / "marker"
        evil = {
            "_target_": target,
            **{key: str(marker) if value == "MARKER" else value for key, value in arguments.items()},
        }
        config = yaml.safe_load((copy / "config.yaml").read_text(encoding="utf-8"))
        change(copy, **({place: evil} if place != "attention" else {"model": config["model"] | {"attention": evil}}))
        message = self.refusal(copy)
        assert f"_target_ {target!r} is no class of this project" in message
        assert not marker.exists()


def swapped(model: bytes, one: str, other: str) -> bytes:
    """The vocabulary with two pieces of as many bytes in each other's place."""
    entries = [b"\n" + bytes([len(piece.encode())]) + piece.encode() for piece in (one, other)]
    assert [model.count(entry) for entry in entries] == [1, 1] and len(entries[0]) == len(entries[1])
    places = {entries[0]: entries[1], entries[1]: entries[0]}
    return re.sub(b"|".join(map(re.escape, entries)), lambda match: places[match[0]], model)


@pytest.fixture(scope="module")
def run(finished) -> Run:
    return load(finished)


class TestAFinishedRun:
    def test_it_holds_what_a_run_is(self, finished):
        names = {path.relative_to(finished).as_posix() for path in finished.rglob("*") if path.is_file()}
        wanted = "config.yaml model.safetensors tokenizer.model metrics.json log/metrics.csv checkpoints/last.ckpt"
        assert names >= {*wanted.split(), "maps/maps.json", "maps/001.png"} and finished.name.endswith("-toy")
        assert not [name for name in names if Path(name).name.startswith(".")]
        metrics = json.loads((finished / "metrics.json").read_text(encoding="utf-8"))
        assert metrics["data"]["requested"] == metrics["data"]["used"] == "toy"
        assert metrics["data"]["counts"]["train.pairs"] == 60 and metrics["versions"]["torch"]
        assert {"bleu", "bleu_lower", "chrf", "perplexity", "link accuracy"} <= metrics["test"].keys()

    def test_k02_the_checkpoint_passes_the_safe_loader(self, finished):
        kept = torch.load(finished / "checkpoints" / "last.ckpt", weights_only=True)
        assert kept["epoch"] == 2 and kept["state_dict"].keys() == load_file(finished / "model.safetensors").keys()

    def test_latest_leads_to_it(self, finished, run):
        assert load(finished.parent / "latest").predict(SENTENCES) == run.predict(SENTENCES)

    def test_a_text_file_named_latest_leads_to_it(self, copy, run):
        (copy.parent / "latest").write_text(copy.name + "\n", encoding="utf-8")
        assert load(str(copy.parent / "latest")).folder == copy

    def test_a_moved_folder_works(self, copy, run):
        moved = copy.rename(copy.parent.parent / "somewhere else ü")
        assert load(moved).predict(SENTENCES) == run.predict(SENTENCES)

    def test_k03_another_process_predicts_the_same(self, run, elsewhere):
        found = [tuple(prediction) for prediction in run.predict(SENTENCES)]
        expected = [(*each[:3], tuple(each[3]), tuple(each[4])) for each in elsewhere["predictions"]]
        assert [each[:2] + each[3:] for each in found] == [each[:2] + each[3:] for each in expected]
        assert [each[2] for each in found] == pytest.approx([each[2] for each in expected], abs=1e-5)

    def test_one_input_or_many(self, run):
        assert run.predict(SENTENCES[0]) == run.predict(SENTENCES[:1])
        assert run.predict([]) == [] and run.maps([]) == []

    def test_t03_empty_lines(self, run):
        predictions = run.predict(["der Hund", "", "die Katze", "   "])
        assert [prediction.output for prediction in predictions][1::2] == ["", ""]
        for empty in predictions[1::2]:
            assert empty.mean_log_probability is None and "the input is empty" in empty.notices[0]
        assert [len(maps) for maps in run.maps(["der Hund", "", "die Katze", "   "])] == [1, 0, 1, 0]
        assert run.predict(["", " "]) == run.predict(["  ", ""])

    def test_t04_a_very_long_input(self, run):
        text = " ".join(["w"] * 5000)
        (prediction,) = run.predict(text)
        (notice,) = [notice for notice in prediction.notices if "were kept" in notice]
        pieces, kept = map(int, re.findall(r"\d+", notice))
        assert pieces >= 5000 and kept == 31
        ((map_,),) = run.maps(text)
        assert len(map_.keys) == 32 and map_.weights.shape[-1] == 32 and notice in map_.text["notice"]

    def test_t06_emoji(self, run):
        (prediction,) = run.predict("Der 🐱 schläft.")
        assert "never seen in training: 🐱" in prediction.notices
        ((map_,),) = run.maps("Der 🐱 schläft.")
        assert "🐱" in map_.keys and len(map_.keys) == map_.weights.shape[-1]
        assert not any("⁇" in label or "\ufffd" in label for label in (*map_.keys, *map_.queries))
        assert map_.text["notice"] == "never seen in training: 🐱"

    def test_maps_are_of_the_prediction(self, run):
        (prediction,) = run.predict("Der Hund schläft.")
        ((map_,),) = run.maps("Der Hund schläft.")
        assert map_.name == "decoder.layers.0.gaze" and map_.text["prediction"] == prediction.output
        assert map_.keys[-1] == map_.queries[-1] and map_.special[-1] and not any(map_.special[:-1])
        assert "notice" not in map_.text and "reference" not in map_.text
