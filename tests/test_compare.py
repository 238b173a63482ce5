"""A comparison from its command line to its tables: what is trained, what is kept, what is said."""

import csv
import re
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import ROOT, SIZES, SMALL

import compare
import comparison
from compose import ConfigError
from members import Member
from summary import Spread, figures_of, most_telling, spread, summary_of, table_of
from trainings import NOT_TRAINED, Outcome

SCRIPTS = str(ROOT / "scripts")
STAND_IN = f"""
import json, os, signal, sys, time
from pathlib import Path
sys.path.insert(0, {SCRIPTS!r})
import compose, yaml
compose.check = lambda config: None  # it imports torch
config = compose.compose(sys.argv[1:])
name = f"{{config['choices']['attention']}} {{config['seed']}}"
with open("trained.txt", "a") as log:
    log.write(name + "\\n")
print("reading the data")
run = Path(config["output"]) / "translation" / "one"
(run / "maps").mkdir(parents=True, exist_ok=True)
if Path("interrupt").exists():
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(60)
if Path("fail").exists() and config["choices"]["attention"] == "cosine":
    sys.exit("error: no memory")
if not Path("nothing").exists():
    (run / "metrics.json").write_text(json.dumps({{
        "test": {{"bleu": {{"value": 10.0 * config["seed"] ** 2, "signature": "s"}}}},
        "training": {{"seconds": 3.5}}, "parameters": 1200}}))
(run / "maps" / "maps.json").write_text('{{"version": 1, "maps": []}}')
(run / "config.yaml").write_text(yaml.safe_dump(config))
(run.parent / "latest").write_text("one")
"""
SMALLER = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}, {SCRIPTS!r}]
from tasks.translation import toy
toy.SIZES.update({SIZES!r})
import command, train
command.command(train.main)
"""


class Table(NamedTuple):
    head: list[str]
    rows: list[list[str]]


@pytest.fixture(autouse=True)
def pages(monkeypatch) -> list[dict[str, Any]]:
    """Stands in for the page writer: what it was called with."""
    calls: list[dict[str, Any]] = []

    def write_html(examples, path, **more):
        calls.append({"examples": examples, "path": path, **more})
        return Path(path)

    stand_in = types.ModuleType("core.maps.html")
    stand_in.Table, stand_in.write_html = Table, write_html
    monkeypatch.setitem(sys.modules, "core.maps.html", stand_in)
    return calls


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """An empty directory to type commands in, and a script beside it that only looks like a training."""
    (tmp_path / "stand_in.py").write_text(STAND_IN, encoding="utf-8")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def compared(*wishes: str) -> int:
    """The exit status of a comparison with the stand-in for training."""
    with pytest.raises(SystemExit) as end:
        compare.main(["data=toy", "output=out", *wishes], script=Path.cwd().parent / "stand_in.py")
    return end.value.code


def trained(place: Path) -> list[str]:
    """What was trained since the last question, in order."""
    log = place / "trained.txt"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return lines


def rows(file: str) -> list[dict[str, str]]:
    with open(Path("out") / "compare" / "latest" / file, encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


class TestCommand:
    def test_trains_each_member_and_writes_its_tables(self, place, pages, capsys):
        assert compared("attention=dot,cosine", "seed=1,2") == 0
        assert trained(place) == ["dot 1", "dot 2", "cosine 1", "cosine 2"]
        (row, other) = rows("compare.csv")
        assert (row["attention"], row["seeds"], row["bleu mean"]) == ("dot", "2", "25")
        assert float(row["bleu deviation"]) == pytest.approx(450**0.5)  # of 10 and 40
        assert (other["training seconds mean"], other["training seconds deviation"]) == ("3.5", "0")
        members = rows("members.csv")
        assert [row["bleu"] for row in members] == ["10", "40", "10", "40"]
        assert {row["state"] for row in members} == {"trained"} and all(Path(row["run"]).is_dir() for row in members)
        page = (place / "out" / "compare" / "latest" / "compare.md").read_text(encoding="utf-8")
        assert page.startswith("# translation, toy, test split\n\n| attention | seeds | bleu | training seconds |")
        assert "\n| dot | 2 | 25.00 ± 21.21 | 3.50 |" in page
        assert pages == []  # these trainings left no maps
        said = capsys.readouterr().out
        assert re.search(r"^member 1 of 4: attention=dot seed=1$", said, re.MULTILINE)
        assert re.search(r"^member 3 of 4, about \d+:\d\d left: attention=cosine seed=1$", said, re.MULTILINE)
        assert "seed=1,2,3" in said and "no compare.html" in said and "scripts/maps.py" in said
        assert "latest: compare.csv, compare.md, members.csv" in said

    def test_what_is_done_is_not_trained_again_by_another_comparison_either(self, place, capsys):
        compared("attention=dot", "seed=1,2")
        trained(place)
        assert compared("seed=2,3", "attention=cosine,dot") == 0
        assert trained(place) == ["cosine 2", "cosine 3", "dot 3"]
        assert "1 of 4 members have been done before" in capsys.readouterr().out
        assert [row["state"] for row in rows("members.csv")] == ["trained", "done before", "trained", "trained"]
        compare.main(["data=toy", "output=out", "attention=dot,local", "seed=3", "--print"])
        assert "done before" in (said := capsys.readouterr().out.splitlines())[0] and "not trained" in said[1]
        assert trained(place) == []

    @pytest.mark.parametrize("damage", ["metrics.json", "config.yaml"])
    def test_a_member_that_is_damaged_or_another_is_trained_again(self, place, damage):
        compared("seed=1,2")
        trained(place)
        run = Path(rows("members.csv")[0]["run"])
        (run / damage).write_text("{}" if damage == "config.yaml" else "{")
        assert compared("seed=1,2") == 0 and trained(place) == ["scaled_dot 1"]

    def test_a_failure_is_told_and_the_others_go_on(self, place, capsys):
        (place / "fail").touch()
        assert compared("attention=cosine,dot") == 1
        assert trained(place) == ["cosine 1", "dot 1"]
        said = capsys.readouterr().out
        assert "    error: no memory" in said and "    reading the data" in said and "log.txt" in said
        assert "not in the table: attention=cosine (failed)" in said
        assert [row["bleu mean"] for row in rows("compare.csv")] == ["", "10"]
        page = (place / "out" / "compare" / "latest" / "compare.md").read_text(encoding="utf-8")
        assert "| cosine | 0 |  |" in page and "- attention=cosine: failed" in page
        (place / "fail").unlink()
        assert compared("attention=cosine,dot") == 0 and trained(place) == ["cosine 1"]

    def test_a_training_that_leaves_no_scores_has_failed(self, place, capsys):
        (place / "nothing").touch()
        assert compared("seed=1,2") == 1 and "metrics.json" in capsys.readouterr().out
        assert rows("compare.csv")[0]["seeds"] == "0"

    @pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT can be sent to a process here")
    def test_control_c_stops_the_training_and_shows_what_is_done(self, place, capsys):
        compared("attention=dot", "seed=1,2")
        trained(place)
        (place / "interrupt").touch()
        assert compared("attention=cosine,local,dot", "seed=1,2") == compare.INTERRUPTED
        assert trained(place) == ["cosine 1"]
        assert [row["seeds"] for row in rows("compare.csv")] == ["0", "0", "2"]
        assert "the same command goes on from here" in capsys.readouterr().out
        (place / "interrupt").unlink()
        assert compared("attention=cosine,dot") == 0 and trained(place) == ["cosine 1"]

    def test_an_error_before_anything_is_trained_leaves_nothing(self, place):
        for wishes, said in [
            (["attention=dot,additve"], "did you mean additive"),
            (["seed=1,2", "--pritn"], "--pritn"),
        ]:
            with pytest.raises(ConfigError, match=said):
                compare.main(["data=toy", *wishes], script=place.parent / "stand_in.py")
        assert not list(place.iterdir())

    def test_help_has_examples(self, place, capsys):
        compare.main(["--help"])
        assert "attention=dot,additive,cosine seed=1,2,3" in capsys.readouterr().out and not list(place.iterdir())


def member(seed: int, **choice: str) -> Member:
    return Member({**choice, "seed": str(seed)}, [], {"seed": seed, "choices": {"attention": "dot"}})


def outcome(run: Path | None = None, *, mebibytes: float | None = None, **scores: float) -> Outcome:
    test = {name: {"value": value, "signature": ""} for name, value in scores.items()}
    return Outcome("trained", run, {"test": test, "training": {"seconds": 60.0}, "parameters": 1000}, 70.0, mebibytes)


class TestSummary:
    @pytest.mark.parametrize(
        ("values", "found", "said"),
        [
            ([1.0, 2.0, 3.0], Spread(2.0, 1.0, 3), "2.00 ± 1.00"),
            ([0.92, 0.93, 0.94], Spread(0.93, 0.01, 3), "0.930 ± 0.010"),
            ([98.5], Spread(98.5, None, 1), "98.50"),
            ([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], Spread(5.0, (32 / 7) ** 0.5, 8), "5.00 ± 2.14"),
            ([120.0, 124.0], Spread(122.0, 8**0.5, 2), "122.0 ± 2.8"),
            ([765568.0, 765568.0], Spread(765568.0, 0.0, 2), "765,568"),
            ([-0.5, 0.5], Spread(0.0, 0.5**0.5, 2), "0.000 ± 0.707"),
        ],
    )
    def test_mean_and_sample_deviation(self, values, found, said):
        assert spread(values) == pytest.approx(found) and str(spread(values)) == said

    def test_a_group_is_what_differs_in_its_seeds_alone_and_gaps_stay_blank(self):
        results = [
            (member(1, attention="dot"), outcome(bleu=10.0, accuracy=0.5)),
            (member(1, attention="local"), outcome(bleu=20.0, mebibytes=900.0)),
            (member(2, attention="dot"), outcome(bleu=14.0)),
            (member(2, attention="local"), NOT_TRAINED),
            (member(1, attention="cosine"), NOT_TRAINED),
        ]
        summary = summary_of(results)
        assert summary.figures == ["bleu", "accuracy", "training seconds", "peak MiB", "parameters"]
        head, lines = table_of(summary, ["bleu", "accuracy", "peak MiB"])
        assert head == ["attention", "seeds", "bleu", "accuracy", "peak MiB"]
        assert lines == [
            ["dot", "2", "12.00 ± 2.83", "0.500", ""],
            ["local", "1", "20.00", "", "900.0"],
            ["cosine", "0", "", "", ""],
        ]

    def test_a_score_that_is_no_number_is_left_out(self):
        assert "bleu" not in figures_of(outcome(bleu=float("nan"))) and figures_of(NOT_TRAINED) == {}

    def test_scores_come_before_costs_and_controls_last(self):
        names = ["bleu", "bleu_lower", "link accuracy", "link accuracy, uniform", "training seconds", "parameters"]
        found = ["bleu", "link accuracy", "training seconds", "parameters", "bleu_lower", "link accuracy, uniform"]
        assert most_telling(names) == found

    def test_the_terminal_shows_what_fits(self):
        summary = summary_of([(member(1, attention="dot"), outcome(**{f"score{number}": 1.0 for number in range(9)}))])
        table, left_out = compare.fitting(summary, "title", 40)
        assert [column.header for column in table.columns] == ["attention", "seeds", "score0", "score1"]
        assert left_out[:2] == ["score2", "score3"] and len(left_out) == 9
        assert not compare.fitting(summary, "title", 500)[1]


def test_what_is_left_takes_as_long_as_what_is_done():
    assert compare.estimate([outcome(), NOT_TRAINED, Outcome("failed", seconds=1.0)], 3) == ", about 3:30 left"
    assert compare.estimate([NOT_TRAINED], 3) == ""


def test_markdown_and_csv_keep_their_cells_apart():
    head, lines = ["a|b", "c"], [["1,2", 'say "x"']]
    assert comparison.as_markdown(head, lines) == '| a\\|b | c |\n| --- | --- |\n| 1,2 | say "x" |'
    assert comparison.as_csv(head, lines) == 'a|b,c\n"1,2","say ""x"""\n'


@pytest.mark.long
def test_two_real_trainings(place, pages):
    (place / "smaller.py").write_text(SMALLER, encoding="utf-8")
    wishes = [word for word in SMALL if not word.startswith("trainer.max_epochs")]
    wishes += ["trainer.max_epochs=1", "trainer.train_batches=2", "trainer.map_examples=1"]
    wishes += ["attention=dot,additive", "output=out"]
    with pytest.raises(SystemExit) as end:
        compare.main(wishes, script=place / "smaller.py")
    assert end.value.code == 0
    one, two = rows("compare.csv")
    assert (one["attention"], two["attention"]) == ("dot", "additive")
    for row in (one, two):
        assert 0 <= float(row["link accuracy mean"]) <= 1 and float(row["parameters mean"]) > 1000
        assert float(row["training seconds mean"]) > 0 and row["bleu deviation"] == ""
        assert float(row["peak MiB mean"]) > 100 or sys.platform == "win32"
    (page,) = pages
    assert page["path"].name == "compare.html" and page["together"]
    assert [row[:2] for row in page["table"].rows] == [["dot", "1"], ["additive", "1"]]
    assert len(page["examples"]) == 1
    for maps in page["examples"]:
        assert [map.name for map in maps] == ["attention=dot", "attention=additive"]
        assert maps[0].keys == maps[1].keys
    compare.main([*wishes, "--print"])
