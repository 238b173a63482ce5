"""What people type becomes a checked configuration or one clear error: on small pages, and on the shipped ones."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import hydra
import pytest
import yaml
from hydra.core.global_hydra import GlobalHydra

from compose import (
    CONFIGS,
    ConfigError,
    _pages,
    check,
    compose,
    config_text,
    help_text,
    instantiate,
    named_by_user,
)


@dataclass(kw_only=True)
class Training:
    max_epochs: int
    budget_minutes: float | None = None
    quick: bool = False


class Dot:
    def __init__(self, *, query_dim: int | None = None, heads: int = 1) -> None:
        self.query_dim, self.heads = query_dim, heads


class Additive:
    def __init__(self, *, query_dim: int, hidden: int | None = None) -> None:
        self.hidden = hidden


class Local:
    def __init__(self, mechanism: Callable[..., Dot], *, query_dim: int, before: int = 4) -> None:
        self.mechanism, self.before = mechanism(query_dim=query_dim), before


class Model:
    def __init__(
        self,
        *,
        attention: Callable,
        width: int,
        heads: int,
        learning_rate: float,
        max_length: int,
        sizes: list[int] | None = None,
        vocabulary: int,
    ) -> None:
        if width % heads:
            raise ValueError(f"width={width} must divide by heads={heads}")
        self.gaze, self.sizes, self.vocabulary = attention(query_dim=width), sizes, vocabulary


class PublicSet:
    def __init__(self, *, path: str, source: str, target: str | None, max_length: int) -> None:
        self.path = path


class ToySet:
    def __init__(self, *, pieces: int) -> None:
        self.pieces = pieces


class OwnSet(PublicSet):
    def __init__(self, *, folder: str, max_length: int = 7, **shared: Any) -> None:
        super().__init__(max_length=max_length, **shared)
        self.folder = folder


PAGES = {
    "train": "defaults: [_self_, {trainer: default}, {task: translation}]\nseed: 1\noutput: outputs\nfallback: true",
    "trainer/default": "_target_: HERE.Training\nmax_epochs: 30\nbudget_minutes: null",
    "trainer/smoke": "defaults: [default, _self_]\nmax_epochs: 1",
    "task/translation": "# @package _global_\ndefaults: [{/attention: dot}, {/model: translation/transformer}, _self_, "
    "{/data: translation/public}]\ntask: translation",
    "task/qa": "# @package _global_\ndefaults: [{/attention: dot}, {/model: translation/transformer}, _self_, "
    "{/data: qa/questions}]\ntask: qa",
    "attention/dot": "_target_: HERE.Dot\n_partial_: true",
    "attention/additive": "_target_: HERE.Additive\n_partial_: true",
    "attention/local": "defaults: [{/attention@mechanism: dot}, _self_]\n_target_: HERE.Local\n_partial_: true",
    "model/translation/transformer": "_target_: HERE.Model\nattention: ${attention}\nwidth: 256\nheads: 8\n"
    "learning_rate: 2e-3\nmax_length: 128",
    "data/translation/public": "_target_: HERE.PublicSet\npath: hub/pairs\nsource: de\ntarget: en\n"
    "max_length: ${model.max_length}",
    "data/translation/toy": "# @package _global_\ndata: {_target_: HERE.ToySet, pieces: 2000}\n"
    "model: {width: 128, heads: 4}",
    "data/qa/questions": "_target_: HERE.ToySet\npieces: 7",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("configs")
    for name, text in PAGES.items():
        page = root / f"{name}.yaml"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text.replace("HERE", __name__), encoding="utf-8")
    return root


@pytest.fixture(autouse=True, scope="module")
def merged_once():
    """Hydra takes a tenth of a second to merge pages: here it merges each set of choices once."""
    merge = cache(lambda chosen, folder: _pages(dict(chosen), folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("compose._pages", lambda chosen, folder: deepcopy(merge(tuple(chosen.items()), folder)))
        yield


@pytest.fixture(autouse=True)
def empty_place(tmp_path, monkeypatch):
    """Every test runs in an empty directory of its own, and must leave it empty."""
    monkeypatch.chdir(tmp_path)
    yield
    assert list(tmp_path.iterdir()) == []


def error(folder: Path, *overrides: str, **options) -> str:
    with pytest.raises(ConfigError) as caught:
        compose(overrides, folder=folder, **options)
    return str(caught.value)


def test_defaults_are_plain_resolved_values_however_often_they_are_asked_for(folder, monkeypatch):
    monkeypatch.setattr("compose._pages", _pages)
    config = compose([], folder=folder)
    assert config == compose([], folder=folder)
    assert config == yaml.safe_load(config_text(config)), "plain values survive a YAML page"
    assert (config["task"], config["seed"], config["trainer"]["max_epochs"]) == ("translation", 1, 30)
    assert config["data"]["max_length"] == 128 and type(config["data"]) is dict
    assert config["choices"]["attention"] == "dot"
    assert config["data_requested"] == config["data_used"] == "public" and "notice" not in config


def test_hydra_may_be_open_before_and_is_closed_after(folder, monkeypatch):
    monkeypatch.setattr("compose._pages", _pages)
    with hydra.initialize_config_dir(config_dir=str(folder), version_base="1.3"):
        compose([], folder=folder)
    assert not GlobalHydra.instance().is_initialized()


def test_a_task_brings_its_own_pages(folder):
    assert compose(["task=qa"], folder=folder)["data"]["pieces"] == 7


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("trainer.max_epoch=3", "trainer.max_epoch=3: no such key. Did you mean trainer.max_epochs?"),
        ("+trainer.max_epoch=3", "trainer.max_epoch=3: no such key. Did you mean trainer.max_epochs?"),
        ("task=translaton", "task=translaton: did you mean translation?\nChoices of task: qa, translation"),
        ("trainer.max_epochs=abc", "trainer.max_epochs=abc: expected int"),
        ("model.heads=3.5", "model.heads=3.5: expected int"),
        ("model.dim=5", "model.dim=5: no such key"),
    ],
)
def test_c01_typos(folder, typed, said):
    message = error(folder, typed)
    assert message.startswith(said) and len(message.splitlines()) <= 3


def test_c01_numbers_that_do_not_fit_each_other(folder):
    config = compose(["model.width=5", "model.heads=2"], folder=folder)
    with pytest.raises(ConfigError, match=r"^Model: width=5 must divide by heads=2$"):
        instantiate(config["model"], vocabulary=11)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("max_epochs=3", "Did you mean trainer.max_epochs?"),
        ("taks=qa", "Did you mean task?"),
        ("trainer=smok", "did you mean smoke?"),
        ("data=questions", "data=questions: it belongs to task=qa\nChoices of data (task=translation): public, toy"),
        ("attention=zzz", "no such choice\nChoices of attention (task=translation): additive, dot, local"),
        ("attention.mechanism=dott", "did you mean dot?"),
        ("attention.mechanism=dot", "Choices that hold a mechanism: local"),
        ("model.vocabulary=5", "no such key"),
        ("attention.heads=2", "no such key. Did you mean model.heads?"),
        ("attention._target_=os.system", "no such key"),
        ("seed=abc", "seed=abc: expected int"),
        ("seed=null", "seed=null: expected int"),
        ("fallback=maybe", "fallback=maybe: expected bool"),
        ("model.width=true", "model.width=true: expected int"),
        ("model.sizes=[1,x]", 'model.sizes=[1, "x"]: expected list[int] | None'),
        ("trainer.budget_minutes=soon", "expected float | None"),
        ("model.width=${model.wdth}", "model.width: Interpolation key 'model.wdth' not found"),
        ("translation", "translation: not of the form KEY=VALUE"),
    ],
)
def test_other_slips(folder, typed, said):
    assert said in error(folder, typed)


def test_a_wrong_task_is_named_before_the_choices_that_depend_on_it(folder):
    assert error(folder, "data=toy", "task=translaton").startswith("task=translaton: did you mean translation?")


TEXTS = [
    *("runs/epoch=1-step=2", "runs/epoch=1-step=2.ckpt", "Hello, world", "猫が好き", "null", "1e3", "007", "true"),
    *("What is 5% of {x}?", "~/my sets/été", r"C:\new\table", "[1,2]", "a: b # c", "${seed}", r"\${seed}", ""),
]


@pytest.mark.parametrize("texts", [TEXTS[start : start + 4] for start in range(0, len(TEXTS), 4)])
def test_c02_text_arrives_as_it_was_typed(folder, texts):
    typed = [f"{key}={text}" for key, text in zip(("data.path", "data.source", "output"), texts, strict=False)]
    config = compose([*typed, f"data.target='{texts[3]}'"], folder=folder)
    assert [config["data"]["path"], config["data"]["source"], config["output"], config["data"]["target"]] == texts


def test_c02_where_no_text_is_wanted_values_keep_their_meaning(folder):
    typed = ["model.learning_rate=1e-3", "model.sizes=[1,2]", "trainer.budget_minutes=3", "trainer.quick=true"]
    config = compose([*typed, "data.target=null", "model.width=${model.max_length}"], folder=folder)
    assert config["model"]["learning_rate"] == 0.001 and config["model"]["sizes"] == [1, 2]
    assert config["trainer"]["budget_minutes"] == 3 and config["trainer"]["quick"] is True
    assert config["data"]["target"] is None and config["model"]["width"] == 128


def test_named_numbers_win_over_the_smaller_ones_of_toy(folder):
    model = compose(["model.width=96", "data=toy"], folder=folder)["model"]
    assert (model["width"], model["heads"]) == (96, 4)


def test_a_shared_number_is_typed_once(folder):
    config = compose(["model.max_length=40"], folder=folder)
    assert config["data"]["max_length"] == 40


def test_what_a_wrapper_holds_is_a_choice_in_both_spellings(folder):
    plain = compose(["attention=local", "attention.mechanism=additive", "attention.mechanism.hidden=3"], folder=folder)
    hydras = compose(
        ["attention.mechanism.hidden=3", "attention@attention.mechanism=additive", "attention=local"], folder=folder
    )
    assert {**plain, "typed": []} == {**hydras, "typed": []} and plain["choices"]["attention.mechanism"] == "additive"
    gaze = instantiate(plain["model"], vocabulary=11).gaze
    assert type(gaze) is Local and type(gaze.mechanism) is Additive and gaze.mechanism.hidden == 3


def test_instantiate_hands_extras_over_untouched(folder):
    node = compose([], folder=folder)["attention"]
    factory = instantiate(node, heads=2)
    assert isinstance(factory, partial) and factory(query_dim=5).heads == 2
    extra = Training(max_epochs=3)
    assert instantiate(node)(query_dim=extra).query_dim is extra
    assert instantiate({"_target_": f"{__name__}.ToySet"}, pieces=extra).pieces is extra


def test_instantiate_names_the_class_around_an_inner_error():
    inner = {"_target_": f"{__name__}.Model", "attention": 1, "width": 5, "heads": 2, "learning_rate": 1}
    inner |= {"max_length": 1, "vocabulary": 1}
    with pytest.raises(ConfigError, match=r"^ToySet: width=5 must divide by heads=2$"):
        instantiate({"_target_": f"{__name__}.ToySet", "pieces": inner})


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ({"_target_": "Training"}, "part: HERE.Training also needs max_epochs"),
        ({"_target_": "Training", "max_epoch": 3}, "part.max_epoch=3: no such key. Did you mean part.max_epochs?"),
        ({"_target_": "Training", "max_epochs": "x"}, "part.max_epochs=x: expected int"),
        ({"_target_": "Local", "_partial_": True}, "part: HERE.Local also needs mechanism"),
        ({"_target_": "Local", "_partial_": True, "mechanism": 3}, "part.mechanism=3: expected"),
        ({"_target_": "OwnSet", "folder": "f"}, "part: HERE.OwnSet also needs path, source, target"),
        ({"_target_": "OwnSet", "sourcee": "de"}, "part.sourcee=de: no such key. Did you mean part.source?"),
        ({"_target_": "OwnSet", "path": 3}, "part.path=3: expected str"),
        ({"_target_": "Trainer"}, "part._target_=HERE.Trainer: cannot be imported"),
    ],
)
def test_check_binds_without_building(node, said):
    node = {**node, "_target_": f"{__name__}.{node['_target_']}"}
    with pytest.raises(ConfigError) as caught:
        check({"seed": 1, "part": node})
    assert str(caught.value).startswith(said.replace("HERE", __name__))
    with pytest.raises(ConfigError, match="outer.part"):
        check({"outer": {"part": node}})


def test_an_unreachable_default_falls_back_and_says_so(folder):
    asked = []
    config = compose(["model.width=96"], folder=folder, reachable=lambda path: bool(asked.append(path)))
    assert asked == ["hub/pairs"]
    assert (config["data_requested"], config["data_used"]) == ("public", "toy")
    assert config["data"]["pieces"] == 2000 and config["model"]["width"] == 96
    for word in ("public (hub/pairs)", "TOY DATA", "HF_ENDPOINT", "data.path=DIR", "data=toy"):
        assert word in config["notice"]


@pytest.mark.parametrize("typed", ["data=public", "data.path=other/pairs", "fallback=false", "data.fallback=false"])
def test_an_unreachable_choice_is_an_error_with_the_ways_out(folder, typed):
    message = error(folder, typed, reachable=lambda path: False)
    for word in ("public", "cannot be reached", "HF_ENDPOINT", "data.path=DIR", "data=toy"):
        assert word in message


def test_what_needs_no_network_is_not_probed(folder, tmp_path_factory):
    place = tmp_path_factory.mktemp("a folder")
    for typed in ("data=toy", f"data.path={place}", "trainer=smoke"):
        config = compose([typed], folder=folder, reachable=lambda path: pytest.fail(f"probed {path}"))
        assert "notice" not in config
    assert compose([], folder=folder, reachable=lambda path: True)["data_used"] == "public"


@pytest.mark.parametrize(
    ("typed", "used"), [([], "toy"), (["data=public"], "public"), (["data.path=DIR"], "public"), (["seed=2"], "toy")]
)
def test_smoke_takes_toy_unless_data_is_named(folder, typed, used):
    config = compose(["trainer=smoke", *typed], folder=folder)
    assert config["data_used"] == config["data_requested"] == used and config["trainer"]["max_epochs"] == 1


def test_named_by_user():
    typed = ["data.path=a=b", "+model=x", "attention@attention.mechanism=y", "seed=1", "data.fallback=false"]
    assert named_by_user(typed) == {"data", "model", "attention", "seed", "fallback"}
    assert named_by_user(["data.fallback=false"]) == {"fallback"}


def test_help_shows_choices_and_present_values(folder):
    text = help_text(["data=toy"], folder=folder)
    for line in ("  data        public toy*", "  task        qa translation*", "  model.width=128", "  seed=1"):
        assert line in text.splitlines()


EVERY_PAGE = sorted(page.relative_to(CONFIGS).with_suffix("").parts for page in CONFIGS.glob("*/**/*.yaml"))
SHIPPED = [page for page in EVERY_PAGE if len(page) <= 3]
NUMBERS = [page for page in EVERY_PAGE if len(page) > 3]  # data/TASK/DATA/TASK/MODEL: a model's numbers for some data
OWN_PATH = {"hub", "parallel"}


@pytest.mark.parametrize("page", SHIPPED, ids="/".join)
def test_every_shipped_page_binds_to_its_target(page):
    group, *task, choice = page
    written = yaml.safe_load(CONFIGS.joinpath(*page).with_suffix(".yaml").read_text(encoding="utf-8"))
    path = ["data.path=pairs.tsv"] if written.get("path") == "???" else []
    config = compose([f"{group}={choice}", *path, *(f"task={name}" for name in task)])
    assert config["choices"][group] == choice


@pytest.mark.parametrize("page", NUMBERS, ids="/".join)
def test_data_bring_numbers_for_each_model(page):
    _, task, data, _, model = page
    config = compose([f"task={task}", f"data={data}", f"model={model}"])
    numbers = yaml.safe_load((CONFIGS.joinpath(*page)).with_suffix(".yaml").read_text(encoding="utf-8"))
    assert {name: config["model"][name] for name in numbers} == {name: float(value) for name, value in numbers.items()}
    assert config["choices"]["model"] == model
    assert compose([f"task={task}", f"data={data}", f"model={model}", "model.width=64"])["model"]["width"] == 64


@pytest.mark.parametrize("choice", sorted(OWN_PATH))
def test_data_that_need_a_path_say_so(choice):
    with pytest.raises(ConfigError, match=f"data={choice} needs data.path="):
        compose([f"data={choice}"])


def test_data_that_are_too_long_for_the_model_are_refused():
    with pytest.raises(ConfigError, match="data.max_length=200 is more than .* set model.max_length=200 as well"):
        compose(["data=toy", "data.max_length=200"])
    assert compose(["data=toy", "data.max_length=200", "model.max_length=200"])["data"]["max_length"] == 200


def test_the_recurrent_model_brings_its_mechanism_and_takes_another():
    for words, name in (([], "additive"), (["attention=cosine"], "cosine"), (["attention=local"], "local")):
        config = compose(["data=toy", "model=rnn", *words])
        assert config["choices"]["attention"] == name
        assert config["model"]["attention"] == config["attention"]
