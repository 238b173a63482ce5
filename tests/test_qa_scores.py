"""Exact match and F1, the best span, and the sliding window. Cases Q04 and Q06."""

import pytest
import torch

from tasks.qa.scores import answer_scores, apart
from tasks.qa.spans import best_spans

START = torch.tensor([[0.1, 0.2, 2.0, 0.3]])
END = torch.tensor([[3.0, 0.1, 0.4, 1.5]])


def scored(prediction: str, *golds: str) -> tuple[float, float]:
    found = answer_scores([prediction], [golds])
    return found["exact match"].value, round(found["f1"].value, 2)


class TestBestSpan:
    @pytest.mark.parametrize(("longest", "span", "score"), [(4, (2, 3), 3.5), (2, (2, 3), 3.5), (1, (0, 0), 3.1)])
    def test_q04_the_end_is_not_before_the_start(self, longest, span, score):
        best = best_spans(START, END, longest=longest)
        assert (int(best.start), int(best.end)) == span and float(best.score) == pytest.approx(score)

    def test_q04_padding_is_no_part_of_a_span(self):
        there = torch.tensor([[True, True, False, False]])
        start, end = (scores.masked_fill(~there, -torch.inf) for scores in (START, END))
        best = best_spans(start, end, longest=4)
        assert (int(best.start), int(best.end)) == (0, 0)

    def test_rows_do_not_meet(self):
        best = best_spans(torch.cat([START, END]), torch.cat([END, START]), longest=4)
        assert best.start.tolist() == [2, 0] and best.end.tolist() == [3, 2]


class TestScores:
    @pytest.mark.parametrize(
        ("prediction", "golds", "em", "f1"),
        [
            ("", [], 100, 100),
            ("Rome", [], 0, 0),
            ("the Denver Broncos", ["Denver", "Denver Broncos"], 100, 100),
            ("Ada", ["Ada"], 100, 100),
            ("", ["Rome"], 0, 0),
            ("Denver", ["Denver Broncos"], 0, 66.67),
            ("in  ROME!", ["Rome"], 0, 66.67),
            ("1854–1860", ["1854-1860"], 100, 100),
        ],
    )
    def test_q06_the_best_of_all_right_answers(self, prediction, golds, em, f1):
        assert scored(prediction, *golds) == (em, f1)

    @pytest.mark.parametrize(
        ("prediction", "gold", "em", "f1"),
        [
            ("北京", "北京", 100, 100),
            ("北京", "北京市", 0, 80),
            ("“北京”。", "北京", 100, 100),
            ("上海", "北京", 0, 0),
            ("กรุงเทพ", "กรุงเทพ", 100, 100),
            ("Москва", "москва", 100, 100),
            ("في القاهرة", "القاهرة", 0, 66.67),
            ("e\u0301te\u0301", "été", 100, 100),
        ],
    )
    def test_scripts_without_spaces_are_scored_by_character(self, prediction, gold, em, f1):
        assert scored(prediction, gold) == (em, f1)

    @pytest.mark.parametrize(
        ("text", "as_scored"),
        [("Paris", "Paris"), ("München ist", "München ist"), ("在Paris呆", "在 Paris 呆"), ("naïve-été", "naïve-été")],
    )
    def test_spaces_come_only_where_a_script_has_none(self, text, as_scored):
        assert apart(text) == as_scored

    def test_means_over_questions(self):
        found = answer_scores(["a b", "c"], [["b"], ["x"]])
        assert found["f1"].value == pytest.approx(50) and found["exact match"].value == pytest.approx(50)
        assert "torchmetrics" in found["f1"].signature

    @pytest.mark.parametrize(("said", "golds"), [([], []), (["a"], [])])
    def test_nothing_to_score(self, said, golds):
        with pytest.raises(ValueError, match="answers to"):
            answer_scores(said, golds)
