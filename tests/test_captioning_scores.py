"""Scores of captions and of their looks, worked out by hand."""

import math

import numpy as np
import pytest

from core.maps import AttentionMap
from tasks.captioning import cells, grounding
from tasks.captioning.grounding import Grounded, Looked, Phrase, Reading
from tasks.captioning.scores import caption_scores


def test_bleu_counts_every_reference():
    """Words: a, dog, runs, fast in either reference; pairs: "a dog" and "runs fast", not "dog runs"."""
    found = caption_scores(["a dog runs fast"], [("a dog sits", "it runs fast now")])
    assert found["BLEU-1"].value == pytest.approx(100.0)
    assert found["BLEU-2"].value == pytest.approx(100 * math.sqrt(1 * 2 / 3))
    assert found["BLEU-3"].value == found["BLEU-4"].value == 0.0


def test_brevity_is_by_the_nearest_reference():
    found = caption_scores(["a dog"], [("a dog runs", "a dog runs fast today")])
    assert found["BLEU-1"].value == pytest.approx(100 * math.exp(1 - 3 / 2))


def test_pictures_may_have_any_number_of_references():
    pytest.importorskip("pycocoevalcap")
    said = ["a dog runs in the grass", "two men sit"]
    found = caption_scores(said, [(said[0], "a cat"), (said[1],)])
    assert found["BLEU-4"].value > 50 and found["ROUGE-L"].value == pytest.approx(100.0)
    assert found["CIDEr-D"].value > caption_scores(["a", "b"], [(said[0], "a cat"), (said[1],)])["CIDEr-D"].value


def test_empty_captions_score_nothing_and_no_captions_are_an_error():
    assert caption_scores(["", ""], [("a dog",), ("two men",)])["BLEU-1"].value == 0.0
    for wrong in ([], ["a"]):
        with pytest.raises(ValueError, match="references"):
            caption_scores(wrong, [("a",), ("b",)])
    with pytest.raises(ValueError, match="references"):
        caption_scores(["a"], [()])


LEFT, RIGHT = (0.0, 0.0, 0.4, 0.4), (0.6, 0.6, 1.0, 1.0)


def looked(rows: list[list[float]], *phrases: Phrase) -> Looked:
    maps = [
        AttentionMap(np.array(rows, dtype=float), queries=["x"] * len(rows), keys=cells.labels((2, 2)), name="gaze")
    ]
    return grounding.looked(Grounded("p", ("w",) * 9, phrases), maps)


def test_pointing_by_hand():
    """ "a dog": rows 0 and 1 look at the top left, where it is; one step later the gaze is elsewhere."""
    rows = [[0.4, 0.6, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]]
    found = grounding.readings([looked(rows, Phrase(0, 2, (LEFT,)))], (2, 2))
    together, last, first = (Reading("gaze", "0", 0, combined) for combined in grounding.COMBINED)
    assert found[together].scores()["pointing, small boxes"] == 1.0
    assert found[together].scores()["mass inside"] == pytest.approx(0.7 * 0.64)
    assert found[last].scores()["mass inside"] == pytest.approx(0.64)
    assert found[first].scores()["mass inside"] == pytest.approx(0.4 * 0.64)
    assert found[last._replace(offset=1)].scores()["pointing"] == 0.0


def test_the_reading_is_chosen_on_validation_and_scored_on_test():
    late = looked([[0, 0, 0, 1], [1, 0, 0, 0]], Phrase(0, 1, (LEFT,)))
    early = looked([[1, 0, 0, 0], [0, 0, 0, 1]], Phrase(0, 1, (LEFT,)))
    found = grounding.scores([late], [early], (2, 2))
    assert found.scores["pointing"].value == 0.0 and "one step later" in found.scores["pointing"].signature
    assert found.scores["pointing, centre"].value == 0.0
    assert found.scores["pointing, uniform"].value == pytest.approx(0.16)
    assert len(found.readings) == 6


def test_phrases_that_were_cut_off_do_not_count():
    rows = [[1.0, 0, 0, 0]] * 3
    assert looked(rows, Phrase(0, 2, (LEFT,)), Phrase(1, 3, (RIGHT,))).phrases == (Phrase(0, 2, (LEFT,)),)


def test_the_alarm():
    blind = looked([[0.25] * 4] * 3, Phrase(0, 1, (RIGHT,)))
    seeing = looked([[0, 0, 0, 1.0]] * 3, Phrase(0, 1, (RIGHT,)))
    assert "0% of boxes" in (grounding.not_pointing([blind], (2, 2)) or "")
    assert grounding.not_pointing([seeing], (2, 2)) is None
    assert grounding.not_pointing([], (2, 2)) is None
    assert grounding.scores([], [], (2, 2)).scores == {}


@pytest.mark.parametrize(
    "word, keys",
    [("r1c1", [0]), ("R2C3", [5]), ("0,0,1,1", [0, 1, 2, 3, 4, 5]), ("0,0,0.34,1", [0, 3]), ("0.4,0.1,0.45,0.2", [1])],
)
def test_cells_by_name(word, keys):
    assert cells.keys_of(word, (2, 3)) == keys
    assert cells.labels((2, 3))[keys[0]].startswith("r")


@pytest.mark.parametrize("word", ["dog", "r0c1", "r3c1", "1,2,3", "0.5,0,0.5,1", "0,0,2,1", "", "nan,0,1,1", "🐕"])
def test_other_words_are_refused_with_what_there_is(word):
    with pytest.raises(ValueError, match="picture"):
        cells.keys_of(word, (2, 3))
