import math

import pytest

from core.metrics import _has_mecab, translation_scores

DOG, RAIN, SNOW = "the dog barked at the tall man", "it was raining all day long", "snow fell on the hill tonight"


def test_values_by_hand():
    # of "a b c d f" 4 of 5, 3 of 4, 2 of 3 and 1 of 2 n-grams are right
    scores = translation_scores(["a b c d f"], ["a b c d e"])
    assert scores["bleu"].value == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    assert list(scores) == ["bleu", "bleu_lower", "chrf"]
    assert all(0 < score.value < 100 for score in scores.values())


def test_one_score_sees_case_and_one_does_not():
    scores = translation_scores(["The Dog barked at the man."], ["the dog barked at the man."])
    assert scores["bleu"].value < 70
    assert scores["bleu_lower"].value == 100
    assert "case:mixed" in scores["bleu"].signature and "case:lc" in scores["bleu_lower"].signature
    assert scores["chrf"].signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0")


def test_M01_short_sentences_are_scored_on_the_ngrams_there_are():
    pairs = ["guten Morgen", "ein Hund"]
    with pytest.warns(UserWarning, match="no reference has 4 tokens"):
        scores = translation_scores(pairs, pairs)
    assert scores["bleu"].value == scores["bleu_lower"].value == pytest.approx(100)
    assert "eff:yes" in scores["bleu"].signature
    with pytest.warns(UserWarning, match="no reference has 4 tokens"):
        assert 0 < translation_scores(["guten Tag", "ein Hund"], pairs)["bleu"].value < 100


def test_M01_short_hypotheses_do_not_change_the_measure():
    scores = translation_scores(["the dog"], [DOG])
    assert scores["bleu"].value == 0 and "eff:no" in scores["bleu"].signature


def test_M02_the_right_form():
    assert translation_scores([DOG, RAIN], [DOG, SNOW])["bleu"].value == pytest.approx(55.2587, abs=1e-4)
    assert translation_scores((DOG, RAIN), (DOG, SNOW))["bleu"].value == pytest.approx(55.2587, abs=1e-4)


@pytest.mark.parametrize("references", [[[DOG], [SNOW]], [[DOG, SNOW]], [DOG, None], DOG])
def test_M02_references_must_be_a_flat_list(references):
    with pytest.raises(TypeError, match="references"):
        translation_scores([DOG, RAIN], references)
    with pytest.raises(TypeError, match="hypotheses"):
        translation_scores(references, [DOG, RAIN])


def test_M02_counts_must_agree():
    with pytest.raises(ValueError, match="2 hypotheses but 1 references"):
        translation_scores([DOG, RAIN], [DOG])
    with pytest.raises(ValueError, match="1 hypotheses but 2 references"):
        translation_scores([DOG], [DOG, SNOW])
    with pytest.raises(ValueError, match="no sentences"):
        translation_scores([], [])


def test_M03_empty_hypotheses():
    references = ["the cat sat on the mat today", "a dog ran past the old barn"]
    one = translation_scores([references[0], ""], references)
    assert one["bleu"].value == pytest.approx(100 * math.exp(1 - 14 / 7))  # 36.79: all brevity penalty
    none = translation_scores(["", ""], references)
    assert [score.value for score in none.values()] == [0, 0, 0]


@pytest.mark.filterwarnings("ignore:no reference has 4 tokens")
def test_M03_empty_references_give_numbers():
    for hypotheses in ([DOG, RAIN], ["", ""]):
        for references in (["", ""], [DOG, ""]):
            scores = translation_scores(hypotheses, references)
            assert all(0 <= score.value <= 100 for score in scores.values())


def test_chinese_is_counted_in_characters():
    for language in ("zh", "zh-CN", "ZH_tw"):
        scores = translation_scores(["我爱自然语言"], ["我爱自然科学"], language=language)
        assert "tok:zh" in scores["bleu"].signature
        assert scores["bleu"].value == pytest.approx(100 * (4 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert "tok:13a" in translation_scores([DOG], [DOG], language="de")["bleu"].signature


@pytest.mark.skipif(_has_mecab(), reason="MeCab is installed")
def test_japanese_without_mecab_is_counted_in_characters_and_says_so():
    with pytest.warns(UserWarning, match=r"pip install 'sacrebleu\[ja\]'"):
        scores = translation_scores(["猫が好きです"], ["猫が好きです"], language="ja")
    assert scores["bleu"].value == pytest.approx(100) and "tok:char" in scores["bleu"].signature


@pytest.mark.skipif(not _has_mecab(), reason="MeCab is not installed")
def test_japanese_with_mecab_is_counted_in_words():
    assert "tok:ja-mecab" in translation_scores(["猫が好きです。"], ["猫が好きです。"], language="ja")["bleu"].signature
