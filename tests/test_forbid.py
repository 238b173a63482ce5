"""Words that may not be looked at: `run.maps(..., forbid=[...])` and `maps.py --forbid`."""

import numpy as np
import pytest

import maps as script
from compose import ConfigError
from core.run import load

SENTENCE = "Die Frau liest ein Buch, weil die müde Frau lacht."


@pytest.fixture(scope="module")
def run(finished):
    return load(finished)


def test_a_word_has_all_its_places(run):
    (example,) = run.data.read([SENTENCE])
    labels = run.data.tokenizer.pieces(example.source).labels
    keys = run.data.keys_of(example, "Frau")
    assert "".join(labels[key] for key in keys).replace("▁", "").replace(" ", "") == "FrauFrau"


def test_capitals_count_where_the_word_occurs_as_written(run):
    (example,) = run.data.read(["Die Frau sieht die Katze."])
    upper, lower, any = (run.data.keys_of(example, word) for word in ("Die", "die", "DIE"))
    assert upper and lower and not set(upper) & set(lower) and set(any) == {*upper, *lower}


def test_nothing_of_a_forbidden_word_is_seen(run):
    (found,) = run.maps(SENTENCE, forbid=["Buch"])
    (example,) = run.data.read([SENTENCE])
    gone = run.data.keys_of(example, "Buch")
    for map in found:
        assert not map.weights[..., gone].any() and map.origin["forbidden"] == "Buch"
        assert np.allclose(map.weights.sum(axis=-1), 1, atol=1e-5)


def test_afterwards_the_model_is_what_it_was(run):
    before = run.maps(SENTENCE)
    run.maps(SENTENCE, forbid=["Frau"])
    after = run.maps(SENTENCE)
    assert all((one.weights == other.weights).all() for one, other in zip(before[0], after[0], strict=True))


def test_a_word_that_is_not_there(run):
    with pytest.raises(ValueError, match="'Hund' is no word of 'Die Frau.*its words are: Die, Frau, liest"):
        run.maps(SENTENCE, forbid=["Hund"])


def test_the_script_tells_both_predictions(finished, tmp_path, capsys):
    script.main([str(finished), SENTENCE, "--forbid", "Buch", "--out", str(tmp_path / "maps")])
    told = capsys.readouterr().out
    assert SENTENCE in told and "with nothing forbidden:" in told and (tmp_path / "maps" / "001.png").is_file()


def test_the_script_leaves_nothing_where_the_word_is_missing(finished, tmp_path):
    with pytest.raises(ConfigError, match="--forbid: 'Hund' is no word"):
        script.main([str(finished), SENTENCE, "--forbid", "Hund", "--out", str(tmp_path / "maps")])
    assert not (tmp_path / "maps").exists()
