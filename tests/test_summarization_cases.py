"""Sentences, budgets, greedy labels and ROUGE of summaries, by hand."""

import numpy as np
import pytest

from core.sentences import sentences
from tasks.summarization import oracle
from tasks.summarization.budget import Budget, select
from tasks.summarization.examples import Article, batched
from tasks.summarization.rouge import rouge
from tasks.summarization.sentences import terms
from tasks.summarization.vocabulary import Vocabulary


def said(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def test_titles_initials_prices_and_times_end_no_sentence():
    text = "Dr. Lee paid $3.50 to J. P. Ray at 5 p.m. on Monday. He left."
    assert said(text) == ["Dr. Lee paid $3.50 to J. P. Ray at 5 p.m. on Monday.", "He left."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("Only one here.", ["Only one here."]),
        ("", []),
        ("...", []),
        ("\n\n", []),
        ("A first one.\r\n\r\nA second one.", ["A first one.", "A second one."]),
        ("😀 Yes. 😀", ["😀 Yes.", "😀"][:1]),
    ],
)
def test_sentences_are_slices_with_a_word_in_them(text, expected):
    assert said(text) == expected


def test_a_heading_is_no_sentence_and_a_first_sentence_is_none():
    assert Article.read("Rates rise again\n\nThe bank met. It rained.", language="en").words[0] == (
        "the",
        "bank",
        "met",
    )
    assert len(Article.read("Rates rise.\n\nThe bank met.", language="en").words) == 2
    assert len(Article.read("Rates rise", language="en").words) == 1


@pytest.mark.parametrize(
    ("budget", "most"),
    [
        (Budget(sentences=3), [0, 1, 2, 3, 3]),
        (Budget(share=0.3), [0, 1, 1, 1, 3]),
        (Budget(words=9), [0, 1, 2, 4, 10]),
    ],
)
def test_how_many_sentences_fit(budget, most):
    assert [budget.most(count) for count in (0, 1, 2, 4, 10)] == most


@pytest.mark.parametrize(
    "wrong", [{}, {"sentences": 3, "share": 0.3}, {"sentences": 0}, {"share": 0.0}, {"share": 1.5}, {"words": -1}]
)
def test_a_budget_is_one_of_three(wrong):
    with pytest.raises(ValueError, match="budget|share"):
        Budget(**wrong)


WORDS = [["a", "b", "c"], ["a", "b", "c", "d"], ["e"], ["f", "g"]]


@pytest.mark.parametrize(
    ("scores", "budget", "block", "chosen"),
    [
        ([1, 1, 1, 1], Budget(sentences=2), False, [0, 1]),
        ([0, 3, 2, 1], Budget(sentences=2), False, [1, 2]),
        ([2, 3, 0, 1], Budget(sentences=2), True, [1, 3]),
        ([2, 3, 0, 1], Budget(words=6), False, [1, 3]),
        ([0, 9, 0, 0], Budget(words=2), False, [2]),
        ([2, 3, 0, 1], Budget(share=0.5), False, [0, 1]),
    ],
)
def test_selection_by_hand(scores, budget, block, chosen):
    found = select(np.array(scores, dtype=float), WORDS, budget, block_trigrams=block)
    assert found == chosen
    assert found == sorted(found)


def test_greedy_labels_by_hand(tmp_path):
    sentences = [["it", "rained"], ["the", "bank", "met"], ["rates", "rise", "again"], ["the", "bank", "rates"]]
    reference = ["rates", "rise", "the", "bank", "met"]
    assert oracle.greedy(sentences, reference) == [1, 2]
    assert oracle.greedy(sentences, ["snow"]) == [] and oracle.greedy([], reference) == []
    assert oracle.within(Budget(sentences=1), sentences, reference) == [1]
    assert oracle.labels([(sentences, reference)], cache=tmp_path) == [[1, 2]]
    (kept,) = tmp_path.glob("oracle-*.json")
    kept.write_text("[[0]]")
    assert oracle.labels([(sentences, reference)], cache=tmp_path) == [[0]]
    kept.write_text("broken")
    assert oracle.labels([(sentences, reference)], cache=tmp_path) == [[1, 2]]


@pytest.mark.parametrize(
    ("summary", "reference", "rouge1", "rouge2"),
    [
        ("the cat sat", "the cat sat", 100, 100),
        ("The cat", "the dog", 50, 0),
        ("", "the dog", 0, 0),
        ("猫坐着", "猫坐下", 200 / 3, 50),
        ("кот спит", "Кот спит", 100, 100),
    ],
)
def test_rouge_by_hand(summary, reference, rouge1, rouge2):
    found = rouge([summary], [reference])
    assert found["rouge1"] == [pytest.approx(rouge1)] and found["rouge2"] == [pytest.approx(rouge2)]


def test_words_are_known_in_order_of_how_many_documents_have_them(tmp_path):
    words = Vocabulary.learn([["a", "b"], ["b", "b"], ["b", "c"]], size=4)
    assert (words.size, words.number("b"), words.number("a"), words.number("c")) == (4, 2, 3, 1)
    assert words.rarity("b") == 0 and words.rarity("never") == 1
    words.save(tmp_path / "v.json")
    assert Vocabulary.load(tmp_path / "v.json").digest == words.digest
    (tmp_path / "v.json").write_text("{}")
    with pytest.raises(ValueError, match=r"v\.json"):
        Vocabulary.load(tmp_path / "v.json")


def test_terms_are_words_of_any_script():
    assert terms("Don't — 3 Kühe! 你好") == ["don", "t", "3", "kühe", "你", "好"]


def test_a_batch_of_nothing_is_padding(monkeypatch):
    from tasks.summarization.examples import Example
    from tasks.summarization.features import look

    empty = Example("", Article("", (), ()), look([], Vocabulary(1, [])))
    batch = batched([empty, empty])
    assert batch.mask.shape == (2, 1) and not batch.mask.any() and not batch.word_mask.any()
