"""Which trainings a comparison is made of: lists multiplied out, every member checked, one answer about the data."""

from copy import deepcopy
from functools import cache

import pytest
import yaml

from compose import ConfigError, _pages, compose, config_text
from members import MOST, Members, key_of, lists_of, members_of, split

MULTI30K = "bentrevett/multi30k"


@pytest.fixture(autouse=True, scope="module")
def merged_once():
    """Hydra takes a tenth of a second to merge pages: here it merges each set of choices once."""
    merge = cache(lambda chosen, folder: _pages(dict(chosen), folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("compose._pages", lambda chosen, folder: deepcopy(merge(tuple(chosen.items()), folder)))
        yield


def made(*wishes: str) -> Members:
    return members_of(wishes, reachable=lambda path: True)


def names(*wishes: str) -> list[str]:
    return [member.name for member in made(*wishes).members]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("dot", ["dot"]),
        ("dot,additive", ["dot", "additive"]),
        ("1, 2 ,3", ["1", "2", "3"]),
        ("[1,2]", ["[1,2]"]),
        ("[1,2],[3,[4,5]]", ["[1,2]", "[3,[4,5]]"]),
        ("{a: 1, b: [2,3]},{a: 2}", ["{a: 1, b: [2,3]}", "{a: 2}"]),
        ("'a,b',c", ["'a,b'", "c"]),
        ('"a,b.tsv"', ['"a,b.tsv"']),
        ('"it\'s, so",b', ['"it\'s, so"', "b"]),
        ("o'neil,d'arc", ["o'neil", "d'arc"]),
        ("['a]',b],c", ["['a]',b]", "c"]),
        ("a],b", ["a]", "b"]),
        ("[a,b", ["[a,b"]),
        ("", [""]),
        (",", ["", ""]),
        (" a b ", [" a b "]),
    ],
)
def test_only_a_comma_outside_brackets_and_quotes_separates(text, items):
    assert split(text) == items


def test_the_last_list_runs_fastest_and_the_order_is_the_one_typed():
    assert names("data=toy", "attention=dot,additive", "seed=3,1") == [
        "attention=dot seed=3",
        "attention=dot seed=1",
        "attention=additive seed=3",
        "attention=additive seed=1",
    ]


def test_a_list_over_a_plain_key_reaches_the_configuration_and_train_py():
    members = made("data=toy", "model.dropout=0.1,0.25", "output=elsewhere").members
    assert [member.config["model"]["dropout"] for member in members] == [0.1, 0.25]
    assert members[1].words == ["data=toy", "model.dropout=0.25", "fallback=false"]
    assert members[1].choice == {"model.dropout": "0.25"} == members[1].group


def test_the_seed_is_no_part_of_the_group():
    (one, two) = made("data=toy", "attention=dot", "seed=1,2").members
    assert one.group == two.group == {} and (one.name, two.name) == ("seed=1", "seed=2")


def test_two_choices_of_one_configuration_are_trained_once_and_said():
    made_up = made("data=toy", "model.dropout=0.1,0.10,0.2", "attention=dot,dot")
    assert [member.name for member in made_up.members] == [
        "model.dropout=0.1 attention=dot",
        "model.dropout=0.2 attention=dot",
    ]
    assert "model.dropout=0.10 attention=dot is the same as model.dropout=0.1 attention=dot" in made_up.notices[1]
    assert made_up.notices[0] == "model.dropout=0.1 attention=dot is given twice: trained once"


class TestKey:
    def key(self, *words: str, reachable: bool = True) -> str:
        return key_of(compose(words, reachable=lambda path: reachable))

    def test_is_of_what_decides_the_result(self):
        key = self.key("data=toy", "attention=dot")
        assert len(key) == 16 and key == self.key("attention=dot", "data=toy")
        same = [("output=x",), ("fallback=false",), ("seed=1",), ("model=transformer",)]
        other = [("seed=2",), ("model.dropout=0.3",), ("trainer.max_epochs=3",), ("attention=cosine",), ("model=rnn",)]
        assert {self.key("data=toy", "attention=dot", *words) for words in same} == {key}
        assert len({self.key("data=toy", *words) for words in other} | {key}) == 6

    def test_is_the_same_for_toy_data_that_were_asked_for_and_that_were_not(self):
        assert self.key(reachable=False) == self.key("data=toy") != self.key()

    def test_is_the_same_for_what_a_run_keeps(self):
        config = compose(["data=toy", "model=rnn", "model.learning_rate=1e-5"])
        key = key_of(config)
        config["model"]["vocabulary"] = 1856
        assert key_of(yaml.safe_load(config_text(config))) == key


class TestData:
    def test_are_asked_for_once_and_all_members_keep_to_the_answer(self):
        asked = []
        found = members_of(["attention=dot,additive", "seed=1,2"], reachable=asked.append)  # None: they cannot be had
        assert asked == [MULTI30K]
        assert [member.words[-2:] for member in found.members] == [["data=toy", "fallback=false"]] * 4
        for member in found.members:
            again = compose(member.words, reachable=lambda path: True)
            assert again["data_used"] == "toy" and key_of(again) == member.key
        (notice,) = found.notices
        assert "cannot be reached" in notice and "every member uses TOY DATA" in notice

    def test_an_answer_that_changes_is_asked_for_once_only(self):
        answers = iter([True])
        found = members_of(["attention=dot,additive"], reachable=lambda path: next(answers))
        assert [member.config["data_used"] for member in found.members] == ["multi30k", "multi30k"]
        assert found.notices == [] and all(member.words[-1] == "fallback=false" for member in found.members)

    def test_that_were_named_do_not_fall_back(self):
        with pytest.raises(ConfigError, match="cannot be reached"):
            members_of(["data=multi30k", "seed=1,2"], reachable=lambda path: False)

    def test_that_differ_are_said(self):
        assert made("data=toy,multi30k").notices == ["the members have different data: multi30k, toy"]


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        (["data=toy", "seed=1,2", "attention=dot,cosine,additve"], "did you mean additive"),
        (["data=toy", "seed=1,2", "attention=dot,additve"], "the member seed=1 attention=additve"),
        (["data=toy", "attention=local,dot", "attention.before=2"], "attention.before=2: no such key"),
        (["data=toy", "trainer.max_epoch=3,4"], "max_epochs"),
        (["data=toy", "model.dropout=0.1,1.0"], "got 1.0"),
        (["data=toy", "model.width=16,10", "model.heads=4"], "must divide by its heads; got 10 / 4"),
        (["data=toy", "trainer.max_epochs=3,0"], "max_epochs must be at least 1; got 0"),
        (["data=toy", "data.tokens_per_batch=100,0"], "tokens_per_batch must be at least 1; got 0"),
        (["data=toy", "seed=1,two"], "seed=two: expected int"),
        (["seed"], "not of the form KEY=VALUE"),
    ],
)
def test_a_member_that_cannot_be_is_an_error_before_any_training(wishes, said):
    with pytest.raises(ConfigError) as caught:
        made(*wishes)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        (["data=toy"], "at least one list, such as attention=dot,additive"),
        ([], "at least one list"),
        (["seed=1,,2"], "seed=1,,2: the list has an empty place"),
        (["attention=dot,"], "empty place"),
        (["seed=1,2", "seed=3"], "seed is given twice; to compare values, give a list"),
        (["+seed=1,2", "seed=3"], "seed is given twice"),
        (["seed=1,2", "output=a,b"], "output is one for all members"),
        (["seed=1,2", "resume=outputs/translation/latest"], "give the same command again"),
        ([f"seed={','.join(map(str, range(MOST + 1)))}"], f"these are {MOST + 1} trainings"),
    ],
)
def test_lists_that_make_no_comparison(wishes, said):
    with pytest.raises(ConfigError) as caught:
        lists_of(wishes)
    assert said in str(caught.value)
