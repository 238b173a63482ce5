"""Answers as places in a passage, windows, sentences and files of questions. Cases Q01 to Q03 and Q05."""

import gzip
import json
from collections import Counter

import pytest

from core.public import DataError
from core.text import words
from tasks.qa.answers import Question, covering, exact, placed
from tasks.qa.own import read_questions
from tasks.qa.sentences import numbers, sentences
from tasks.qa.windows import holding, inside, windows


def told(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def place(passage: str, answer: str, start: int) -> tuple[list[tuple[int, int]], Counter]:
    counts: Counter[str] = Counter()
    return placed(Question(passage, "?", (answer,), (start,)), counts, "train"), counts


class TestPlaces:
    def test_q01_an_answer_behind_a_hyphen(self):
        passage = "The bridge (opened 1854-1860) cost $2.5m."
        (span,), _ = place(passage, "1860", 24)
        spans = words(passage)
        label = covering(span, spans)
        assert (
            label and passage[spans[label[0]][0] : spans[label[1]][1]] == "1860" and exact(label, span, spans, passage)
        )

    def test_q01_an_answer_inside_a_word_is_covered_by_it(self):
        passage = "It cost 25m in all."
        label = covering((8, 10), words(passage))
        assert label == (2, 2) and not exact(label, (8, 10), words(passage), passage)

    @pytest.mark.parametrize(
        ("passage", "start", "right"),
        [
            ("  The Nile is long.", 4, 6),
            ("The Nile is long.", 6, 4),
            ("Nile, Nile and Nile", 7, 6),
            ("Nile, Nile and Nile", 14, 15),
            ("The Nile is long.", -9, 4),
            ("The Nile is long.", 900, 4),
        ],
    )
    def test_q02_an_answer_that_stands_elsewhere_is_found(self, passage, start, right):
        found, counts = place(passage, "Nile", start)
        assert found == [(right, right + 4)] and counts == {"train.answers_realigned": 1}

    def test_q02_an_answer_that_stands_where_it_should_is_not_counted(self):
        assert place("The Nile is long.", "Nile", 4) == ([(4, 8)], Counter())

    @pytest.mark.parametrize("answer", ["Rhine", "", "  "])
    def test_q02_an_answer_that_is_nowhere_is_counted(self, answer):
        found, counts = place("The Nile is long.", answer, 4)
        assert found == [] and counts == {"train.answers_not_found": 1}

    def test_q03_places_are_those_of_the_raw_text(self):
        passage = "ﬁlm shot in ½ day in Oslo"
        (span,), counts = place(passage, "Oslo", 21)
        label = covering(span, words(passage))
        assert not counts and label and words(passage)[label[0]] == (21, 25)

    @pytest.mark.parametrize(
        "passage", ["在奥斯陆拍摄。", "इसे ओस्लो में", "😀😀 Oslo", "e\u0301te\u0301 a\u0301 Oslo", "a\r\nOslo"]
    )
    def test_every_answer_can_be_cut_out_again(self, passage):
        spans = words(passage)
        for first, (start, _) in enumerate(spans):
            for last, (_, end) in enumerate(spans[first:], start=first):
                assert covering((start, end), spans) == (first, last)


class TestWindows:
    def test_q05_every_word_is_in_a_window(self):
        found = windows(300, window=128, stride=64)
        assert found == [(0, 128), (64, 192), (128, 256), (172, 300)]
        assert set().union(*(range(*window) for window in found)) == set(range(300))

    @pytest.mark.parametrize(("count", "found"), [(128, [(0, 128)]), (129, [(0, 128), (1, 129)]), (1, [(0, 1)])])
    def test_short_passages(self, count, found):
        assert windows(count, window=128, stride=128) == found

    def test_q05_an_answer_is_labelled_only_where_it_is_whole(self):
        found = windows(300, window=128, stride=64)
        assert [inside((250, 250), window) for window in found] == [None, None, (122, 122), (78, 78)]
        assert [inside((190, 193), window) for window in found] == [None, None, (62, 65), (18, 21)]
        assert holding((250, 250), found) == 3 and holding(None, found) == 0
        assert inside((10, 200), found[holding((10, 200), found)]) is None

    @pytest.mark.parametrize("stride", [200, 0, -1])
    def test_q05_a_stride_that_leaves_words_out(self, stride):
        with pytest.raises(ValueError, match=f"windows of 128 words, one every {stride}"):
            windows(300, window=128, stride=stride)


class TestSentences:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            (
                "Dr. Lee paid $3.50 to J. P. Ray at 5 p.m. on Monday. He left.",
                ["Dr. Lee paid $3.50 to J. P. Ray at 5 p.m. on Monday.", "He left."],
            ),
            ('She said "No." Then he left!', ['She said "No."', "Then he left!"]),
            ("他来了。她走了！", ["他来了。", "她走了！"]),
            ("One\n\nTwo", ["One", "Two"]),
            ("no stop", ["no stop"]),
            ("... !", ["... !"]),
        ],
    )
    def test_they_end_where_they_should(self, text, found):
        assert told(text) == found

    def test_a_word_belongs_to_the_sentence_that_it_begins_in(self):
        text = "One two. Three."
        assert numbers(words(text), text).tolist() == [0, 0, 0, 1, 1]


def squad(*questions: dict, passage: str = "Ada was here.") -> dict:
    return {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": passage, "qas": list(questions)}]}]}


ADA = {"id": "1", "question": "Who?", "answers": [{"text": "Ada", "answer_start": 0}]}
NOBODY = {"id": "2", "question": "Why?", "is_impossible": True, "answers": [], "plausible_answers": []}


class TestFiles:
    @pytest.mark.parametrize("name", ["q.json", "q.json.gz"])
    def test_plain_and_gzipped(self, tmp_path, name):
        content = b"\xef\xbb\xbf" + json.dumps(squad(ADA, NOBODY)).encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        found = read_questions(str(tmp_path / name))
        assert found == [
            Question("Ada was here.", "Who?", ("Ada",), (0,), "1"),
            Question("Ada was here.", "Why?", key="2"),
        ]

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("[]", "wanted data"),
            ('{"data": [{"paragraphs": [{"qas": []}]}]}', r"data\[0\].paragraphs\[0\]: wanted context \(str\)"),
            (json.dumps(squad({"question": "Who?"})), r"qas\[0\]: wanted answers \(list\); found \['question'\]"),
            (json.dumps(squad({**ADA, "answers": [{"text": "Ada"}]})), r"wanted answer_start \(int\)"),
            ("{", "is no json in UTF-8"),
            ("\xff", "is no json in UTF-8"),
        ],
    )
    def test_what_is_wrong_is_named(self, tmp_path, content, said):
        (tmp_path / "q.json").write_bytes(content.encode("latin-1"))
        with pytest.raises(DataError, match=said):
            read_questions(str(tmp_path / "q.json"))

    def test_files_that_cannot_be_read(self, tmp_path):
        (tmp_path / "q.json.gz").write_bytes(b"no gzip")
        for name in ("nothing.json", "q.json.gz"):
            with pytest.raises(DataError, match=name):
                read_questions(str(tmp_path / name))
