"""The commands as a person types them, and who imports whom."""

import ast
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import evaluate
import predict
import pytest
import torch
import train
import yaml
from conftest import ROOT, SENTENCES, SMALL, python, trained

import command
import maps
from compose import CONFIGS, ConfigError, compose, instantiate
from core.run import RunError

MECHANISMS = sorted(page.stem for page in (CONFIGS / "attention").glob("*.yaml"))
TEXTS = ["ckpt=runs/epoch=1-step=2.ckpt", "Hello, world", "猫が好き", "text=null", "null", "1e3", "007", "5% of {x}?"]


def typed(monkeypatch, script, *arguments: str) -> int | str | None:
    """The exit status of a command, run in this process."""
    monkeypatch.setattr(sys, "argv", [script.__name__, *map(str, arguments)])
    try:
        command.command(script.main)
    except SystemExit as end:
        return end.code
    return 0


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """An empty directory to type commands in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestPredict:
    def lines(self, capsys) -> list[str]:
        return capsys.readouterr().out.splitlines()

    def test_arguments_a_file_and_standard_input_say_the_same(self, finished, tmp_path, monkeypatch, capsys):
        text = "\r\n".join(SENTENCES) + "\r\n"
        (tmp_path / "inputs.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        said = []
        for arguments in (SENTENCES, ["--file", str(tmp_path / "inputs.txt")], []):
            predict.main([str(finished), *arguments])
            said.append(self.lines(capsys))
        assert said[0] == said[1] == said[2] and len(said[0]) == len(SENTENCES)
        assert [bool(line) for line in said[0]] == [True, False, True, True]

    def test_json_has_all_there_is_to_know(self, finished, capsys):
        predict.main([str(finished), "Der 🐱 schläft.", "", "--json"])
        one, two = map(json.loads, self.lines(capsys))
        assert one["input"] == "Der 🐱 schläft." and one["mean_log_probability"] < 0
        assert "never seen in training: 🐱" in one["notices"]
        nothing = {"input": "", "output": "", "mean_log_probability": None, "alternatives": []}
        assert two == {**nothing, "notices": two["notices"]}

    def test_beams_give_as_many_lines_as_were_asked_for(self, finished, capsys):
        predict.main([str(finished), "Der Hund schläft.", "Die Katze", "--beam", "3", "--nbest", "2"])
        assert len(self.lines(capsys)) == 4
        predict.main([str(finished), "Der Hund schläft.", "--beam", "3", "--nbest", "2", "--json"])
        (one,) = map(json.loads, self.lines(capsys))
        assert len(one["alternatives"]) == 1 and one["alternatives"][0]["mean_log_probability"] < 0

    def test_draws_a_prefix_and_no_repetition(self, finished, capsys):
        said = []
        for seed in ("1", "1", "2"):
            predict.main([str(finished), "Der Hund schläft.", "--sample", "--top-k", "50", "--seed", seed])
            said.append(self.lines(capsys))
        assert said[0] == said[1] != said[2]
        predict.main([str(finished), "Der Hund schläft.", "--prefix", "The cat", "--no-repeat", "1"])
        assert self.lines(capsys)[0].startswith("The cat")

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ("--beam 2 --sample", "choose one"),
            ("--nbest 2", "--nbest belongs to a search: add --beam N"),
            ("--length-penalty 1", "--length-penalty belongs to a search"),
            ("--top-p 0.5", "--top-p belongs to drawing: add --sample"),
            ("--beam 2 --nbest 3", "--beam 2 --nbest 3: a search takes"),
            ("--beam 0", "--beam 0"),
            ("--sample --temperature 0", "--temperature is above 0"),
            ("--no-repeat 0", "--no-repeat 0"),
        ],
    )
    def test_options_that_do_not_go_together(self, finished, options, said):
        with pytest.raises(ConfigError, match=re.escape(said)):
            predict.main([str(finished), "Der Hund.", *options.split()])

    def test_what_is_to_be_known_goes_to_standard_error(self, finished, capsys):
        predict.main([str(finished), "Der Hund schläft.", "Der 🐱 schläft."])
        errors = capsys.readouterr().err
        assert re.search(r"1: mean log-probability -\d", errors) and "2: never seen in training: 🐱" in errors

    @pytest.mark.parametrize("text", TEXTS)
    def test_c02_text_arrives_as_it_was_typed(self, finished, capsys, text):
        predict.main([str(finished), "--json", text])
        assert json.loads(self.lines(capsys)[0])["input"] == text

    def test_text_that_looks_like_an_option(self, finished, capsys):
        predict.main([str(finished), "--json", "--", "-x ist = 3", "--file"])
        assert [json.loads(line)["input"] for line in self.lines(capsys)] == ["-x ist = 3", "--file"]


class TestMaps:
    def test_files_of_each_input(self, finished, tmp_path, capsys):
        maps.main([str(finished), "Der 🐱 schläft.", "--out", str(tmp_path / "out"), "", "Die Frau liest."])
        names = sorted(path.name for path in (tmp_path / "out").iterdir())
        assert names == sorted(
            f"{number:03d}{end}" for number in (1, 3) for end in ("-decoder-layers-0-gaze.npz", "-heads.png", ".png")
        ) + ["maps.html", "maps.json"]
        said = capsys.readouterr()
        assert "2: the input is empty: no map" in said.out and "1: never seen in training: 🐱" in said.err

    def test_a_new_folder_inside_the_run_by_default(self, finished, capsys):
        maps.main([str(finished), "Die Frau liest."])
        folder = Path(capsys.readouterr().out.splitlines()[-1].removeprefix("maps: "))
        assert folder.parent == finished and folder.name.startswith("maps-") and (folder / "001.png").is_file()


class TestEvaluate:
    def test_the_scores_of_a_run_come_again(self, finished, small_toy, capsys):
        evaluate.main([str(finished), "--json"])
        found = json.loads(capsys.readouterr().out)
        written = json.loads((finished / "metrics.json").read_text(encoding="utf-8"))["test"]
        assert found["scores"].keys() == written.keys() and len(found["predictions"]) == 12
        for name, score in found["scores"].items():
            assert score["value"] == pytest.approx(written[name]["value"], rel=1e-4)
            assert score["signature"] == written[name]["signature"]

    def test_another_split_and_other_numbers(self, finished, small_toy, capsys):
        evaluate.main([str(finished), "--split", "validation", "data.tokens_per_batch=7"])
        assert "validation split, 12 examples" in " ".join(capsys.readouterr().out.split())


class TestTrain:
    def test_c04_fewer_examples_than_a_batch_holds_still_make_a_step(self, small_toy, tmp_path, monkeypatch):
        few = {split: pairs[:5] for split, pairs in small_toy.items()}
        monkeypatch.setattr("tasks.translation.toy.pairs", lambda *, seed=0: few)
        more = ["data.tokens_per_batch=100000", "trainer.max_epochs=1", "trainer.map_examples=0"]
        run = trained(tmp_path, *more)
        metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
        assert metrics["data"]["counts"]["train.pairs"] == 5 and metrics["training"]["steps"] == 1

    def test_help_and_print_build_nothing(self, place, capsys):
        train.main(["--help"])
        assert "Groups and their choices" in capsys.readouterr().out
        train.main(["data=toy", "attention=cosine", "--print"])
        assert "core.attention.CosineAttention" in capsys.readouterr().out and not list(place.iterdir())

    def test_the_end_of_a_run_says_what_came_and_what_to_try(self, small_toy, place, capsys):
        train.main([*SMALL, "trainer.max_epochs=1", "trainer.map_examples=0"])
        said = capsys.readouterr().out
        for words in ("task=translation data=toy", "60", "epoch   1", "translation, toy, test split", "link accuracy"):
            assert words in said
        assert "python scripts/predict.py outputs/translation/latest" in said and "TOY DATA" not in said

    def test_a_fallback_is_said_first_and_last_and_kept(self, small_toy, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr("core.public.reachable", lambda path: False)
        smaller = [word for word in SMALL if not word.startswith("data") and word != "trainer=smoke"]
        train.main([*smaller, "trainer.max_epochs=1", "trainer.map_examples=1", f"output={tmp_path}"])
        said = capsys.readouterr().out
        assert (
            said.startswith("The data set multi30k (bentrevett/multi30k) cannot be reached") and "HF_ENDPOINT" in said
        )
        assert "TOY DATA, not multi30k" in said[said.index("epoch   1") :]
        metrics = json.loads((tmp_path / "translation" / "latest" / "metrics.json").read_text(encoding="utf-8"))
        assert (metrics["data"]["requested"], metrics["data"]["used"]) == ("multi30k", "toy")

    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_two_steps_with_every_mechanism(self, small_toy, mechanism):
        torch.manual_seed(0)
        config = compose([*SMALL, f"attention={mechanism}", "model.gaze_heads=2", "model.dropout=0.0"])
        data = instantiate(config["data"])
        data.load()
        model = instantiate(config["model"], vocabulary=data.vocabulary)
        optimizer, losses = torch.optim.AdamW(model.parameters(), lr=3e-3), []
        batch = data.collate(data.splits["train"][:11])
        for _ in range(3):
            losses.append(model.loss(batch))
            optimizer.zero_grad()
            losses[-1].backward()
            optimizer.step()
        assert losses[0] > losses[1] > losses[2] > 0
        gaze = model.decoder.layers[0].gaze
        reads = {name for name, weights in gaze.named_parameters() if weights.grad is not None and weights.grad.any()}
        unread = {name for name, _ in gaze.named_parameters()} - reads
        unused = ("key_projection",) * (mechanism in ("position", "mean"))
        unused += ("query_projection",) * (mechanism in ("position", "unconditional", "mean"))
        assert {name.partition(".")[0] for name in unread} == set(unused)
        rows = model.eval().generate(batch)
        assert len(rows) == 11


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["data=toy"], ["data=toy", "attention=additive"]),
        (["data=toy", "attention=additive"], ["data=toy", "attention=cosine"]),
        (
            ["attention=local", "attention.before=2", "model.width=8"],
            ["model.width=8", "data=toy", "attention=additive"],
        ),
    ],
)
def test_the_next_command_is_what_was_typed_with_another_mechanism(typed, shown):
    assert train.with_another_mechanism(compose(typed, reachable=lambda path: False)) == shown


def test_k04_a_run_goes_on_in_its_folder(finished, small_toy, tmp_path, capsys):
    folder = tmp_path / "runs" / "one"
    shutil.copytree(finished, folder)
    before = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["training"]
    more = before["epochs"] + 1
    with pytest.raises(RunError, match=f"has trained its {before['epochs']} epochs"):
        train.main([f"resume={folder}"])
    with pytest.raises(ConfigError, match=r"only trainer.KEY=VALUE"):
        train.main([f"resume={folder}", "model.width=8"])
    train.main([f"resume={folder}", f"trainer.max_epochs={more}"])
    assert f"epoch   {more}" in (said := capsys.readouterr().out) and "epoch   1" not in said
    after = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["training"]
    assert (after["epochs"], after["steps"]) == (more, before["steps"] // before["epochs"] * more)
    assert yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))["trainer"]["max_epochs"] == more


class TestErrors:
    """Status 2, a line or a few on standard error, no traceback, and nothing left on the disk."""

    @pytest.fixture(autouse=True)
    def empty_place(self, place):
        yield
        assert list(place.iterdir()) == []

    def refused(self, monkeypatch, capsys, script, *arguments, lines: int = 1) -> str:
        assert typed(monkeypatch, script, *arguments) == 2
        said = capsys.readouterr().err.strip()
        assert said.startswith("error: ") and len(said.splitlines()) <= lines and "Traceback" not in said
        return said

    @pytest.mark.parametrize("script", [predict, maps, evaluate], ids=lambda script: script.__name__)
    def test_k03_no_such_run(self, monkeypatch, capsys, script):
        assert "there is no run at nothing" in self.refused(monkeypatch, capsys, script, "nothing", "data.seed=1")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--file", "nothing.txt"], "--file nothing.txt: there is no such file"),
            (["text", "--file", "nothing.txt"], "not both"),
        ],
    )
    def test_inputs_that_are_not_there(self, finished, monkeypatch, capsys, arguments, said):
        for script in (predict, maps):
            assert said in self.refused(monkeypatch, capsys, script, finished, *arguments)

    def test_inputs_that_are_not_utf8(self, finished, monkeypatch, capsys, tmp_path_factory):
        file = tmp_path_factory.mktemp("inputs") / "latin.txt"
        file.write_bytes("schläft".encode("latin-1"))
        assert "is not UTF-8 at byte 4" in self.refused(monkeypatch, capsys, predict, finished, "--file", file)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
        assert "standard input is not UTF-8" in self.refused(monkeypatch, capsys, predict, finished)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["task=translaton"], "translation"),
            (["trainer.max_epoch=3"], "max_epochs"),
            (["model.width=10", "model.heads=4"], "must divide by its heads; got 10 / 4"),
            (["model.dropout=1.0"], "got 1.0"),
            (["model.label_smoothing=2.0"], "got 2.0"),
            (["model.decoder_layers=0"], "decoder_layers is 0"),
            (["model.learning_rate=-1.0"], "got -1.0"),
            (["data.tokens_per_batch=0"], "tokens_per_batch must be at least 1; got 0"),
            (["data.max_length=1"], "got 1"),
            (["data.pieces=10"], "a bpe vocabulary of 10 is too small for this text: it needs at least"),
            (["trainer.eval_examples=0"], "eval_examples must be at least 1, or null for all; got 0"),
            (["trainer.map_examples=-1"], "map_examples"),
            (["trainer.gradient_clip=-1.0"], "gradient_clip"),
            (["trainer.budget_minutes=0.0"], "budget_minutes must be above 0"),
            (["trainer.precision=fp8"], "precision must be auto"),
            (["seed=-1"], "seed=-1"),
            (["output=" + __file__], f"output={__file__}"),
        ],
    )
    def test_training_that_cannot_be(self, small_toy, monkeypatch, capsys, arguments, said):
        assert said in self.refused(monkeypatch, capsys, train, *SMALL, *arguments, lines=3)

    def test_data_that_are_not_there(self, monkeypatch, capsys):
        monkeypatch.setattr("core.public.reachable", lambda path: True)
        said = self.refused(monkeypatch, capsys, train, "data.path=./nothing")
        assert "data.path=./nothing: there is no such folder" in said and "data=toy" in said
        monkeypatch.setattr("core.public.reachable", lambda path: False)
        said = self.refused(monkeypatch, capsys, train, "data=multi30k", lines=4)
        assert "cannot be reached" in said and "HF_ENDPOINT" in said

    def test_a_split_and_overrides_that_there_are_not(self, finished, small_toy, monkeypatch, capsys):
        said = self.refused(monkeypatch, capsys, evaluate, finished, "--split", "dev")
        assert "--split dev: the data have train, validation, test" in said
        assert "only data.KEY=VALUE" in self.refused(monkeypatch, capsys, evaluate, finished, "model.width=3")
        assert "no such key" in self.refused(monkeypatch, capsys, evaluate, finished, "data.path=x", lines=2)

    def test_a_place_for_maps_that_is_a_file(self, finished, monkeypatch, capsys):
        assert __file__ in self.refused(monkeypatch, capsys, maps, finished, "Der Hund.", "--out", __file__)

    def test_a_reader_that_has_enough_is_no_error(self, monkeypatch, capfd):
        def main(arguments):
            raise BrokenPipeError

        monkeypatch.setattr(os, "dup2", lambda *_: None)
        with pytest.raises(SystemExit) as end:
            command.command(main)
        assert end.value.code == 0 and not capfd.readouterr().err

    def test_in_a_process_of_its_own(self):
        done = python(str(ROOT / "scripts" / "predict.py"), "nothing/at/all", "Ein Hund.")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("error: there is no run at nothing/at/all") and done.stderr.count("\n") == 1


SMALLER = "import sys; from tasks.translation import toy; toy.SIZES.update(train=300, validation=20, test=20); "
SMALLER += f"sys.path.insert(0, {str(ROOT / 'scripts')!r}); import command, train; command.command(train.main)"


@pytest.mark.long
def test_c04_a_smoke_run_takes_a_minute_at_most_and_can_be_used(tmp_path):
    begun = time.monotonic()
    done = python("scripts/train.py", "trainer=smoke", f"output={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begun < 60
    run = tmp_path / "translation" / "latest"
    for script, *arguments in (("predict", "Ein Hund."), ("maps", "Ein Hund."), ("evaluate", "--split", "validation")):
        done = python(f"scripts/{script}.py", str(run), *arguments)
        assert done.returncode == 0 and done.stdout, done.stderr
    assert torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["global_step"] == 20


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT can be sent to a process here")
def test_control_c_finishes_the_step_and_still_writes_everything(tmp_path):
    command = [sys.executable, "-uc", SMALLER, "data=toy", "trainer.max_epochs=1000", f"output={tmp_path}"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("epoch   1"):
                process.send_signal(signal.SIGINT)
                break
        out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "the best weights so far are kept" in out and "translation, toy, test split" in out
    run = tmp_path / "translation" / "latest"
    assert json.loads((run / "metrics.json").read_text(encoding="utf-8"))["test"]["bleu"]
    assert (run / "maps" / "maps.json").is_file() and (run / "model.safetensors").is_file()


def imports(path: Path) -> set[str]:
    """The dotted names that a file imports, wherever in it; `from a import b` counts as a.b."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide who imports whom"
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


def under(names: set[str], *roots: str) -> set[str]:
    return {name for name in names if any(f"{name}.".startswith(f"{root}.") for root in roots)}


class TestWhoMayImportWhom:
    FILES = {
        path.relative_to(ROOT).as_posix(): path for part in ("core", "tasks") for path in (ROOT / part).rglob("*.py")
    }
    PORTABLE = [name for name in FILES if re.match(r"core/(attention/|masks|record|intervene)", name)]
    SCRIPTS = {path.stem for path in (ROOT / "scripts").glob("*.py")}

    @pytest.mark.parametrize("name", [name for name in FILES if name.startswith("core/")])
    def test_core_knows_no_task_and_no_configuration(self, name):
        assert not under(imports(self.FILES[name]), "tasks", "hydra", "omegaconf", *self.SCRIPTS)

    @pytest.mark.parametrize("name", [name for name in FILES if name.startswith("tasks/")])
    def test_a_task_knows_no_other_task_and_no_configuration(self, name):
        found = imports(self.FILES[name])
        assert not under(found, "hydra", "omegaconf", *self.SCRIPTS)
        assert under(found, "tasks") <= under(found, f"tasks.{name.split('/')[1]}")

    @pytest.mark.parametrize("name", PORTABLE)
    def test_attention_masks_and_record_can_be_lifted_out(self, name):
        own = ("core.attention", "core.masks", "core.record", "core.intervene")
        found = imports(self.FILES[name])
        assert found == under(found, "torch", "jaxtyping", *own, *sys.stdlib_module_names)

    def test_only_pictures_need_matplotlib(self):
        drawing = {f"core/maps/{name}.py" for name in ("confusion", "fonts", "page", "png", "overlay", "spectrogram")}
        assert {name for name, path in self.FILES.items() if under(imports(path), "matplotlib")} == drawing
