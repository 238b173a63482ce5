"""Induction scores by hand, and the steps that faithfulness asks about."""

import numpy as np
import pytest

from core.decode import greedy
from core.faithfulness import steps_of
from core.maps import AttentionMap
from tasks.generation import induction
from tasks.generation.examples import Link

LINKS = [Link(2, (1,), "copying"), Link(3, (1, 2), "copying")]
HEADS = np.array(
    [
        [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.2, 0.5, 0.3, 0], [0.1, 0.2, 0.2, 0.5]],
        [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
    ]
)


def maps() -> list[AttentionMap]:
    return [
        AttentionMap(HEADS[::order], queries=[*"abab"], keys=[*"abab"], name=f"layers.{n}.attention")
        for n, order in ((0, 1), (1, -1))
    ]


def test_weight_on_what_followed_and_on_the_token_before():
    found = induction.of_heads([maps()], [LINKS])
    assert found["layers.0.attention", 0].mass == pytest.approx(0.5 + 0.4)
    assert found["layers.0.attention", 1] == found["layers.1.attention", 0] == induction.Looks(2.0, 2, 2)
    before = induction.of_heads([maps()], [induction.before(LINKS)])
    assert before["layers.0.attention", 0].mass == pytest.approx(0.5 + 0.2)
    assert induction.by_chance(LINKS) == pytest.approx((1 / 3 + 2 / 4) / 2)


def test_the_head_is_chosen_on_one_set_named_and_scored_on_another():
    worse = [AttentionMap(HEADS[:1], queries=[*"abab"], keys=[*"abab"], name="layers.0.attention")]
    found = induction.scores([(maps(), LINKS)], [(maps(), LINKS)], "here")
    assert found.scores["induction score"].value == pytest.approx(1.0)
    assert found.scores["induction score"].signature.startswith("layer 1 head 2: ")
    assert len(found.readings) == 4 and found.readings[0]["induction"] == pytest.approx(0.45)
    single = induction.scores([(worse, LINKS)], [(worse, LINKS)], "here")
    assert single.scores["induction score"].value == pytest.approx(0.45)
    assert single.scores["induction hits"].value == pytest.approx(0.5)
    assert not induction.scores([(maps(), [])], [(maps(), [])], "here").scores


def test_an_alarm_where_no_head_is_better_than_chance():
    assert induction.not_found(induction.of_heads([maps()], [LINKS]), LINKS) is None
    even = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    flat = [AttentionMap(even, queries=[*"abab"], keys=[*"abab"], name="layers.0.attention")]
    assert "layer 1 head 1" in str(induction.not_found(induction.of_heads([flat], [LINKS]), LINKS))


def test_only_the_steps_that_are_asked_about():
    weights = HEADS[0].astype(np.float32)
    steps = steps_of(weights, np.zeros(4, dtype=bool), 1, 0).only([3])
    assert steps.steps.tolist() == [3] and steps.chosen["most attended"].tolist() == [[3]]
    assert len(steps.one_by_one()) == 4 and not len(steps.only([0]).steps)


def test_every_token_is_heard_and_no_more(monkeypatch):
    import torch

    heard: list[list[int]] = []
    logits = torch.eye(5)[[3, 4]].unsqueeze(1)
    found = greedy(
        lambda tokens, state: (logits, state), None, start=0, end=1, limits=torch.tensor([2, 3]), heard=heard.append
    )
    assert heard == [[3, 4]] * 3 and [each.tokens for each in found] == [[3, 3], [4, 4, 4]]
