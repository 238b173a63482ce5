"""The built-in scenes: true boxes, one right caption, the same for the same seed."""

import random

import numpy as np
import pytest

from tasks.captioning import toy


@pytest.fixture(scope="module")
def scenes():
    return [toy.scene(random.Random(number)) for number in range(300)]


def test_boxes_hold_their_things_in_their_colours(scenes):
    for scene in scenes:
        for start, end, (left, top, right, bottom) in scene.named:
            article, *_, colour, shape = scene.caption.split()[start:end]
            assert article in ("a", "an") and colour in toy.COLOURS and shape in toy.SHAPES
            assert 0 <= left < right <= 1 and 0 <= top < bottom <= 1
            box = scene.pixels[int(top * 64) : int(bottom * 64) + 1, int(left * 64) : int(right * 64) + 1]
            assert (box == toy.COLOURS[colour]).all(axis=-1).mean() > 0.2


def test_relations_are_true_and_the_larger_thing_comes_first(scenes):
    for scene in scenes:
        first, second, *_ = scene.named
        across = {"left of": first.box[2] < second.box[0], "right of": first.box[0] > second.box[2]}
        down = {"above": first.box[3] < second.box[1], "below": first.box[1] > second.box[3]}
        true = [relation for relation, holds in (across | down).items() if holds]
        assert true == [" ".join(scene.caption.split()[first.end : second.start])]
        assert first.box[2] - first.box[0] > second.box[2] - second.box[0]


def test_no_two_things_are_alike(scenes):
    for scene in scenes:
        names = [tuple(scene.caption.split()[end - 2 : end]) for _, end, _ in scene.named]
        assert len(set(names)) == len(names)


def test_the_same_seed_gives_the_same_scenes(monkeypatch):
    monkeypatch.setattr(toy, "SIZES", {"train": 3, "validation": 2, "test": 2})
    once, again, other = toy.scenes(seed=1), toy.scenes(seed=1), toy.scenes(seed=2)
    for split in once:
        for one, two in zip(once[split], again[split], strict=True):
            assert one.caption == two.caption and np.array_equal(one.pixels, two.pixels)
    assert once["train"][0].caption != other["train"][0].caption
    assert once["validation"][0].caption != once["test"][0].caption
