"""A toy training that is long enough for the gaze to take shape, and what is then asked of it."""

import json
import re

import pytest
from conftest import python

from core.evaluate import predict
from core.intervene import intervene
from core.run import Run, load
from core.text import words

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    output = tmp_path_factory.mktemp("toy")
    done = python("scripts/train.py", "data=toy", "attention=additive", "trainer.max_epochs=8", f"output={output}")
    assert done.returncode == 0, done.stderr
    return load(output / "translation" / "latest")


@pytest.fixture(scope="module")
def scores(run) -> dict:
    return json.loads((run.folder / "metrics.json").read_text(encoding="utf-8"))["test"]


def test_the_gaze_finds_partners(scores):
    assert scores["link accuracy"]["value"] > 0.8 > scores["link accuracy, diagonal"]["value"] + 0.1


def test_what_was_looked_at_mattered(scores):
    for way in ("forbidden", "replaced"):
        most, random = (scores[f"faithfulness, {way}, {choice}"]["value"] for choice in ("most attended", "random"))
        assert most > 3 * random
        control = scores[f"faithfulness, {way}, shuffled - random"]["signature"]
        low, high = map(float, re.search(r"interval (\S+) to (\S+),", control).groups())
        assert low < 0 < high


def test_without_its_partner_a_word_breaks_and_few_others_do(run):
    run.data.load()
    partners, broken, others, lost = 0, 0, 0, 0
    for linked in run.data.truth(0, 20).scoring:
        (example,) = run.data.read([linked.source])
        if predict(run.model, run.data, [example])[0].output != linked.target:
            continue
        for source, (start, end) in enumerate(linked.source_spans):
            word = linked.source[start:end]
            if not word.isalpha() or linked.source.split().count(word) > 1:
                continue
            keys = run.data.keys_of(example, word)
            with intervene(run.model, forbid=keys, modules=run.model.gaze):
                said = predict(run.model, run.data, [example])[0].output
            left = {said[a:b] for a, b in words(said)}
            own = {target for key, target in linked.row.sure if key == source}
            gone = {n for n, (a, b) in enumerate(linked.target_spans) if linked.target[a:b] not in left}
            partners, broken = partners + 1, broken + bool(own & gone)
            others, lost = others + len(linked.target_spans) - len(own), lost + len(gone - own)
    assert partners > 50 and broken / partners > 0.5 and lost / others < 0.1
