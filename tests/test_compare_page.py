"""The maps of all members side by side: whose, of which examples, and of which module."""

from pathlib import Path

import numpy as np
import pytest
from test_compare import member, outcome

from comparison import best_module, side_by_side
from core.maps import AttentionMap, save_all

LOW, HIGH = "layers.0.gaze", "layers.1.gaze"


def run(folder: Path, *sources: str, said: str = "a b", modules: tuple[str, ...] = (LOW, HIGH)) -> Path:
    """A run folder with a map of two heads for each source and module; a source "" has no map."""
    examples = []
    for source in sources:
        weights = np.tile(np.eye(len(said.split()), 3, dtype=np.float32), (2, 1, 1))
        text = {"source": source, "prediction": said}
        made = [
            AttentionMap(weights, queries=said.split(), keys=["x", "y", "z"], name=name, text=text) for name in modules
        ]
        examples.append(made if source else [])
    save_all(examples, folder / "maps")
    return folder


def test_one_map_a_member_with_its_own_words(tmp_path):
    one, two = run(tmp_path / "one", "x y z", "z"), run(tmp_path / "two", "x y z", "z", said="c", modules=("look",))
    results = [(member(1, attention="dot"), outcome(one)), (member(1, attention="local"), outcome(two))]
    first, second = side_by_side(results)
    assert [map.name for map in first] == [
        "attention=dot seed=1",
        "attention=local seed=1",
    ]
    assert [map.queries for map in first] == [("a", "b"), ("c",)] and first[0].weights.shape == (1, 2, 3)
    assert [map.text["source"] for map in second] == ["z", "z"]


def test_only_the_first_seed_and_what_is_finished(tmp_path):
    folder = run(tmp_path, "x y z")
    results = [
        (member(3, attention="dot"), outcome(folder)),
        (member(1, attention="dot"), outcome(folder)),
        (member(3, attention="local"), outcome(None)),
        (member(3, attention="cosine"), outcome(folder)),
    ]
    (maps,) = side_by_side(results)
    assert [map.name for map in maps] == ["attention=dot seed=3", "attention=cosine seed=3"]


def test_only_examples_that_all_have_maps_of_and_whose_texts_agree(tmp_path):
    one, two = run(tmp_path / "one", "x", "y", "z"), run(tmp_path / "two", "x", "", "other")
    results = [(member(1, attention="dot"), outcome(one)), (member(1, attention="local"), outcome(two))]
    assert [[map.text["source"] for map in maps] for maps in side_by_side(results)] == [["x", "x"]]
    assert side_by_side([(member(1), outcome(None))]) == []


@pytest.mark.parametrize(
    ("readings", "module"),
    [
        ([], HIGH),
        ([(LOW, 0.9), (HIGH, 0.8)], LOW),
        ([(LOW, 0.7), (HIGH, 0.8), (LOW, 0.85)], LOW),
        ([("all layers", 0.9), (LOW, 0.2), (HIGH, 0.3)], HIGH),
        ([(LOW, None)], HIGH),
    ],
)
def test_the_module_that_looks_best_or_the_last(readings, module):
    attention = [
        {"module": name, "chosen_on": {} if value is None else {"link accuracy": value}} for name, value in readings
    ]
    assert best_module([LOW, HIGH], {"attention": attention}) == module
