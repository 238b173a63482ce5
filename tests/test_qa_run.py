"""A small run of questions from the configuration to its folder, what is asked of it, and sets as people have them."""

import io
import json
import shutil

import evaluate as evaluate_script
import predict as predict_script
import pytest
from qa import NUMBERS, PASSAGE, SIZES, SMALL, squad, squad_json

import maps as maps_script
from compose import ConfigError, compose, instantiate
from core.public import DataError
from core.run import RunError, load
from tasks.qa import toy
from tasks.qa.labels import TO_PASSAGE, TO_QUESTION
from tasks.qa.sets import OwnQuestions, PublicQuestions

WHERE = "Where does Ben live?"


def trained(arguments):
    from rich.console import Console
    from train import train

    told = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "SIZES", SIZES)
        folder = train(compose(arguments), Console(file=told, width=200))
    return folder, told.getvalue()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return trained([*SMALL, f"output={tmp_path_factory.mktemp('runs')}"])


@pytest.fixture(scope="module")
def of_squad(tmp_path_factory):
    output = tmp_path_factory.mktemp("squad")
    small = [word for word in SMALL if word != "data=toy"]
    more = ["trainer.train_batches=2", "trainer.map_examples=1", "trainer.eval_examples=1"]
    return trained([*small, "data=squad", f"data.path={squad(output)}", f"output={output / 'runs'}", *more])[0]


class TestRun:
    def test_what_it_leaves(self, finished):
        folder, told = finished
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["test"]
        assert {"f1", "exact match", "f1, sliding window", "evidence mass", "evidence mass, uniform"} <= metrics.keys()
        assert any("faithfulness" in name for name in metrics)
        assert {"001.png", "001-2.png", "maps.html"} <= {path.name for path in (folder / "maps").iterdir()}
        assert "passage.txt" in told.partition("next")[2] and (folder / "passage.txt").is_file()

    def test_a_passage_and_a_question_of_ones_own(self, finished):
        run = load(finished[0])
        found, empty = run.predict([(PASSAGE, WHERE), ("", WHERE)])
        assert found.output in PASSAGE and found.output and "passage is empty" in empty.notices[0]
        assert run.predict((PASSAGE, WHERE)) == [found]
        (shown,) = run.maps((PASSAGE, WHERE))
        assert [map.name for map in shown] == [TO_QUESTION, TO_PASSAGE]
        assert shown[0].text["source"] == WHERE and shown[0].text["prediction"] == found.output

    @pytest.mark.parametrize("wrong", ["a text", ("one", "two", "three"), [("one",)]])
    def test_other_parts_are_refused(self, finished, wrong):
        with pytest.raises(ValueError, match="the parts passage, question"):
            load(finished[0]).predict(wrong)

    def test_words_may_be_forbidden_in_both_looks(self, finished):
        run = load(finished[0])
        (to_question, to_passage), *_ = run.maps((PASSAGE, WHERE), forbid=["Ben"])
        assert not to_question.weights[..., 2].any() and not to_passage.weights[..., 5].any()
        with pytest.raises(ValueError, match="'Zoe' is no word of the passage or of the question"):
            run.maps((PASSAGE, WHERE), forbid=["Zoe"])

    def test_a_long_passage_has_no_places_to_forbid(self, finished):
        with pytest.raises(ValueError, match="read in 3 windows.*Give the part around 'Ben'"):
            load(finished[0]).maps((PASSAGE * 40, WHERE), forbid=["Ben"])

    def test_the_commands(self, finished, tmp_path, capsys):
        passage = tmp_path / "p.txt"
        passage.write_text(PASSAGE, encoding="utf-8")
        several = tmp_path / "several.tsv"
        line = json.dumps({"passage": PASSAGE, "question": WHERE})
        several.write_text(f"{PASSAGE}\t{WHERE}\n\n{line}\n", encoding="utf-8")
        predict_script.main([str(finished[0]), str(passage), WHERE, PASSAGE, WHERE])
        one, other = capsys.readouterr().out.splitlines()
        predict_script.main([str(finished[0]), "--file", str(several)])
        assert one == other and capsys.readouterr().out.splitlines() == [one, "", one]
        maps_script.main([str(finished[0]), str(passage), WHERE, "--forbid", "Ben"])
        assert "with nothing forbidden:" in capsys.readouterr().out

    def test_a_passage_that_is_no_file_is_not_read_as_its_name(self, finished):
        with pytest.raises(DataError, match="nowhere.txt: there is no such file"):
            predict_script.main([str(finished[0]), "nowhere.txt", WHERE])

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ([PASSAGE], "2 parts here: passage, question; 1 came"),
            ([PASSAGE, WHERE, PASSAGE], "3 came"),
            (["--file", "F"], "line 2: wanted 2 parts, passage, question"),
        ],
    )
    def test_arguments_without_all_their_parts(self, finished, tmp_path, arguments, said):
        (tmp_path / "f.tsv").write_text(f"{PASSAGE}\t{WHERE}\nno tab\n", encoding="utf-8")
        arguments = [str(tmp_path / "f.tsv") if each == "F" else each for each in arguments]
        with pytest.raises(ConfigError, match=said):
            predict_script.main([str(finished[0]), *arguments])

    def test_files_that_are_not_its_own_are_refused(self, finished, tmp_path):
        for name, content in (("words.json", b"{}"), ("tokenizer.model", b"")):
            copy = tmp_path / name
            shutil.copytree(finished[0], copy)
            (copy / name).write_bytes(content)
            with pytest.raises(RunError):
                load(copy)


class TestSets:
    def test_squad_in_the_hubs_layout(self, tmp_path):
        data = PublicQuestions(path=str(squad(tmp_path)), **(NUMBERS | {"window": 100}), held_out=3)
        data.load()
        assert [len(data.splits[split]) for split in ("train", "validation", "test")] == [27, 3, 6]
        assert data.always and {example.answers for example in data.splits["test"]} == {
            (str(1850 + number),) for number in range(6)
        }
        for example in data.splits["train"]:
            assert example.answer
            first, last = example.answer
            assert example.passage.words()[first : last + 1] == list(example.answers)
        assert data.score_name == "f1" and any("27 of 27 questions" in line for line in data.report())

    def test_its_page_leads_to_it(self, tmp_path):
        config = compose(["task=qa", f"data.path={squad(tmp_path)}", "data.pieces=300", "data.share=0.5"])
        data = instantiate(config["data"])
        data.load()
        assert data.counts["train.questions"] == 14 and len(data.splits["test"]) == 6

    def test_own_files_in_squads_json_with_questions_without_answers(self, tmp_path):
        train, test = squad_json(tmp_path / "train.json", range(40)), squad_json(tmp_path / "test.json", range(50, 60))
        numbers = NUMBERS | {"window": 100, "pieces": 250}
        data = OwnQuestions(path=str(train), test_path=str(test), held_out=4, **numbers)
        data.load()
        assert [len(data.splits[split]) for split in ("train", "validation", "test")] == [36, 4, 10]
        assert not data.always and data.counts["test.unanswerable"] == 2
        unanswerable = [example for example in data.splits["test"] if not example.answers]
        assert data.collate(unanswerable).start.tolist() == [0, 0]

    def test_a_file_can_be_evaluated_on_but_not_learned_from(self, tmp_path):
        path = str(squad_json(tmp_path / "xquad.json", range(10)))
        with pytest.raises(DataError, match="evaluate.py takes a set without one"):
            PublicQuestions(path=path, **NUMBERS).load()

    def test_a_run_is_scored_on_a_file(self, of_squad, tmp_path, capsys):
        path = squad_json(tmp_path / "q.json", range(8))
        evaluate_script.main([str(of_squad), f"data.path={path}", "--json"])
        found = json.loads(capsys.readouterr().out)
        assert len(found["predictions"]) == 8 and 0 <= found["scores"]["f1"]["value"] <= 100

    @pytest.mark.parametrize("numbers", [{"share": 0.0}, {"share": 1.5}, {"stride": 31}, {"longest_question": 0}])
    def test_numbers_that_cannot_be(self, numbers):
        with pytest.raises(ValueError, match=next(iter(numbers))):
            toy_set(**numbers)

    def test_a_blind_control_sees_no_question(self, monkeypatch):
        monkeypatch.setattr(toy, "SIZES", SIZES)
        data = toy_set(blind=True)
        data.load()
        assert {example.question.text for example in data.splits["test"]} == {"?"}

    def test_the_toy_set_is_the_same_for_a_seed_and_its_answers_are_where_it_says(self, monkeypatch):
        monkeypatch.setattr(toy, "SIZES", SIZES)
        found = toy.questions(seed=1)
        assert found == toy.questions(seed=1) != toy.questions(seed=2)
        for each in found["train"]:
            start, end = each.sentence
            assert each.passage[each.start :].startswith(each.answer) and start <= each.start < end
            assert each.passage.count(each.answer) == 1 or each.answer in ("car", "cat")


def toy_set(**numbers):
    from tasks.qa.sets import ToyQuestions

    return ToyQuestions(**(NUMBERS | numbers))
