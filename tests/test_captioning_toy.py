"""The built-in scenes: true boxes, two captions, the same for the same seed."""

import random

import numpy as np
import pytest

from tasks.captioning import toy


@pytest.fixture(scope="module")
def scenes():
    return [toy.scene(random.Random(number)) for number in range(300)]


def test_boxes_hold_their_things_in_their_colours(scenes):
    for scene in scenes:
        for caption, named in zip(scene.captions, scene.named, strict=True):
            for start, end, (left, top, right, bottom) in named:
                colour, shape = caption.split()[start:end]
                assert colour in toy.COLOURS and shape in toy.SHAPES
                assert 0 <= left < right <= 1 and 0 <= top < bottom <= 1
                box = scene.pixels[int(top * 64) : int(bottom * 64) + 1, int(left * 64) : int(right * 64) + 1]
                assert (box == toy.COLOURS[colour]).all(axis=-1).mean() > 0.2


def test_relations_are_true(scenes):
    for scene in scenes:
        for caption, (first, second, *_) in zip(scene.captions, scene.named, strict=True):
            relation = caption.split(" ", first.end)[-1]
            across = {"left of": first.box[2] < second.box[0], "right of": first.box[0] > second.box[2]}
            down = {"above": first.box[3] < second.box[1], "below": first.box[1] > second.box[3]}
            true = [each for each in toy.OPPOSITE if (across | down)[each]]
            assert len(true) == 1 and relation.startswith(true[0])


def test_both_captions_name_the_same_things(scenes):
    for scene in scenes:
        one, other = ([caption.split()[start:end] for start, end, _ in named]
                      for caption, named in zip(scene.captions, scene.named, strict=True))  # fmt: skip
        assert sorted(one) == sorted(other) and one[:2] == other[1::-1]
        assert [" ".join(each) for each in one] == list(dict.fromkeys(" ".join(each) for each in one))


def test_the_same_seed_gives_the_same_scenes(monkeypatch):
    monkeypatch.setattr(toy, "SIZES", {"train": 3, "validation": 2, "test": 2})
    once, again, other = toy.scenes(seed=1), toy.scenes(seed=1), toy.scenes(seed=2)
    for split in once:
        for one, two in zip(once[split], again[split], strict=True):
            assert one.captions == two.captions and np.array_equal(one.pixels, two.pixels)
    assert once["train"][0].captions != other["train"][0].captions
    assert once["validation"][0].captions != once["test"][0].captions
