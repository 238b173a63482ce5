"""True word links: files of them, their place on sentences, and what the gaze is worth by them."""

import gzip
import json

import numpy as np
import pytest
from conftest import ROOT

from core.maps import AttentionMap
from core.public import DataError
from core.text import clean
from tasks.translation import alignment
from tasks.translation.alignment import Reading, aligned, scores
from tasks.translation.links import Linked, Phrase, Row, facing, place, read_links, row_of, spans_of
from tasks.translation.sets import in_halves
from tasks.translation.word_aligner import WordAligner

SHARED = ROOT.parent / "shared" / "data"
PAIRS = [("Ein Hund rennt.", "A dog runs."), ("Ein Kind ruft.", "A child calls.")]
ROW = {"src_words": ["a", "dog", "runs", "."], "tgt_words": ["ein", "hund", "rennt", "."], "line": 0}


def row(source: str, target: str, *sure: tuple[int, int], line: int | None = None, **more) -> Row:
    empty = {"possible": [], "phrases": [], "complete": True} | more
    return Row(source.split(), target.split(), list(sure), line=line, **empty)


class TestFiles:
    def write(self, path, *rows, pack=False):
        data = "".join(json.dumps(each) + "\n" for each in rows).encode()
        path.write_bytes(gzip.compress(data) if pack else data)
        return str(path)

    @pytest.mark.parametrize("pack", [False, True])
    def test_one_word(self, tmp_path, pack):
        path = self.write(tmp_path / "links", {**ROW, "src_pos": [1], "tgt_pos": [1, 2]}, pack=pack)
        (found,) = read_links(path)
        assert found.sure == [(1, 1), (1, 2)] and not found.complete and found.line == 0

    def test_sure_and_possible(self):
        found = row_of({**ROW, "sure": [[0, 0]], "possible": [[1, 1], [2, 2]]})
        assert (found.sure, found.possible, found.complete) == ([(0, 0)], [(1, 1), (2, 2)], True)

    def test_phrases(self):
        found = row_of({**ROW, "phrases": [{"src": [0, 2], "tgt": [0, 2]}]})
        assert found.phrases == [Phrase((0, 2), (0, 2))] and not found.sure
        assert found.turned().phrases == [Phrase((0, 2), (0, 2))] and found.turned().source_words[1] == "hund"

    def test_html_entities(self):
        found = row_of({"src_words": ["l&apos;", "a&amp;b"], "tgt_words": ["&quot;"], "sure": []})
        assert found.source_words == ["l'", "a&b"] and found.target_words == ['"']

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"src_words": ["a"], "sure": []}, "tgt_words"),
            ({**ROW, "sure": [[4, 0]]}, r"the link \[4, 0\] is outside 4 and 4 words"),
            ({**ROW, "phrases": [{"src": [0, 5], "tgt": [0, 1]}]}, "outside 4 and 4"),
            ({**ROW}, "src_pos"),
            ([], "line 2"),
        ],
    )
    def test_a_row_that_is_something_else(self, tmp_path, fields, said):
        path = self.write(tmp_path / "links", {**ROW, "sure": []}, fields)
        with pytest.raises(DataError, match=said) as caught:
            read_links(path)
        assert "line 2" in str(caught.value) and path in str(caught.value)

    def test_a_missing_and_a_damaged_file(self, tmp_path):
        with pytest.raises(DataError, match="no such file"):
            read_links(str(tmp_path / "none"))
        (tmp_path / "cut").write_bytes(gzip.compress(b"{}" * 99)[:20])
        with pytest.raises(DataError, match="cannot be read"):
            read_links(str(tmp_path / "cut"))


class TestPlaces:
    def test_case_and_marks_do_not_count(self):
        assert spans_of(['"', "ein", "hund", '"', "."], "„Ein  Hund“.") == [(0, 1), (1, 4), (6, 10), (10, 11), (11, 12)]
        assert spans_of(["don", "'", "t"], "Don’t ") == [(0, 3), (3, 4), (4, 5)]
        assert spans_of(["İstanbul"], "İstanbul") == [(0, 8)]  # lower case has a character more

    @pytest.mark.parametrize("text", ["Ein Hund", "Ein Hund rennt. Und", "Kein Hund rennt.", ""])
    def test_other_words_have_no_place(self, text):
        assert spans_of(["ein", "hund", "rennt", "."], text) is None

    def test_the_words_decide_which_side_is_the_source(self):
        rows = [row_of({**ROW, "sure": [[1, 1], [2, 3]]})]
        assert facing(rows, PAIRS)[0].source_words[1] == "hund"
        assert facing(rows, PAIRS)[0].sure == [(1, 1), (3, 2)]
        assert facing(rows, [pair[::-1] for pair in PAIRS]) == rows

    def test_a_row_of_a_line_and_one_of_its_own(self):
        placed = place(row("ein kind ruft .", "a child calls .", (1, 1), line=1), PAIRS)
        assert placed is not None and placed.source == "Ein Kind ruft." and placed.target_spans[1] == (2, 7)
        assert place(row("ein kind ruft .", "a child calls .", line=0), PAIRS) is None
        assert place(row("ein kind ruft .", "a child calls .", line=2), PAIRS) is None
        own = place(row("das Haus", "the house"), PAIRS)
        assert own is not None and own.source == "das Haus" and own.source_spans == [(0, 3), (4, 8)]

    @pytest.mark.parametrize(
        ("file", "source", "target", "rows", "least"),
        [
            ("alignments-multi30k-mlt/en-de.test2016.jsonl.gz", "de", "en", 1004, 1003),
            ("alignments-multi30k-mlt/en-fr.test2016.jsonl.gz", "en", "fr", 864, 863),
            ("alignments-multi30k-en-fr/test_2016_flickr.en-fr.jsonl.gz", "fr", "en", 1000, 998),
        ],
    )
    def test_real_links_on_real_sentences(self, file, source, target, rows, least):
        if not (SHARED / file).is_file():
            pytest.skip(f"{SHARED / file} is not there")
        from datasets import load_dataset

        test = load_dataset(str(SHARED / "multi30k"), split="test")
        pairs = [(clean(one), clean(other)) for one, other in zip(test[source], test[target], strict=True)]
        found = read_links(str(SHARED / file))
        assert len(found) == rows
        assert sum(place(each, pairs) is not None for each in facing(found, pairs)) == least


def example(weights, *sure, possible=(), source="aa bb cc", target="x y", name="gaze") -> alignment.Aligned:
    """Words that are pieces; the last row and column are the end mark."""
    found = row(source, target, *sure, possible=list(possible))
    linked = place(found, [])
    assert linked is not None
    array = np.asarray(weights, dtype=np.float32)
    labels = {"queries": [*found.target_words, "end"], "keys": [*found.source_words, "end"]}
    return aligned([AttentionMap(array, **labels, name=name)], linked.source_spans, linked.target_spans, linked)


ONE = [[0.1, 0.7, 0.1, 0.1], [0.2, 0.1, 0.6, 0.1], [0, 0, 0, 1]]
OTHER = [[0.9, 0.0, 0.1, 0.0], [0.1, 0.8, 0.1, 0], [0, 0, 0, 1]]


class TestScores:
    def test_every_head_and_their_mean_at_both_steps(self):
        found = alignment.readings([example([ONE, OTHER], (1, 0), (2, 1))])
        accuracy = {str(reading): tally.scores()["link accuracy"] for reading, tally in found.items()}
        assert accuracy == {
            "gaze, head 0, at the predicting step": 1.0,
            "gaze, head 1, at the predicting step": 0.0,
            "gaze, mean of heads, at the predicting step": 0.0,
            "gaze, head 0, one step later": 0.0,
            "gaze, head 1, one step later": 0.5,
            "gaze, mean of heads, one step later": 0.5,
        }

    def test_what_is_chosen_on_one_half_is_reported_on_the_other(self):
        choosing, scoring = [example([ONE, OTHER], (1, 0), (2, 1))], [example([OTHER, ONE], (1, 0), (2, 1))]
        found = scores(choosing, scoring, [example([ONE], (1, 0), (2, 1))], PAIRS, chosen_on="one half")
        assert found.scores["link accuracy"].value == 0.0
        assert (
            "head 0, at the predicting step; the best of 6 readings on one half"
            in found.scores["link accuracy"].signature
        )
        assert found.scores["alignment error rate"].value == 1.0
        assert found.scores["link accuracy, posterior"].value == 1.0
        names = [f"link accuracy{row}" for row in ("", ", plain mean", ", diagonal", ", uniform", ", word aligner")]
        assert set(names) <= set(found.scores)
        assert found.scores["link accuracy, uniform"].value == pytest.approx(1 / 3)
        assert len(found.readings) == 6 and found.readings[0]["chosen_on"]["link accuracy"] == 1.0

    def test_the_error_rate_by_hand(self):
        # Found: bb - x, cc - y. Sure: bb - x; possible: cc - y. 1 - (1 + 2) / (2 + 1) = 0.
        (tally,) = [
            t for r, t in alignment.readings([example([ONE], (1, 0), possible=[(2, 1)])]).items() if r.offset == 0
        ]
        assert tally.scores()["alignment error rate"] == 0.0 and tally.scores()["link accuracy"] == 1.0
        # Both sure, but a word more that nobody found: 1 - (2 + 2) / (2 + 3).
        (tally,) = [t for r, t in alignment.readings([example([ONE], (1, 0), (2, 1), (0, 1))]).items() if r.offset == 0]
        assert tally.scores()["alignment error rate"] == pytest.approx(1 / 5)

    def test_a_word_that_looks_at_the_mark_is_linked_to_nothing(self):
        away = [[0.1, 0.2, 0.1, 0.6], [0.2, 0.1, 0.6, 0.1], [0, 0, 0, 1]]
        (tally,) = [t for r, t in alignment.readings([example([away], (1, 0), (2, 1))]).items() if r.offset == 0]
        assert tally.scores()["alignment error rate"] == pytest.approx(1 - 2 / 3)  # one found, of two sure

    def test_mass_within_phrases(self):
        one = example([ONE])
        row = one.linked.row._replace(phrases=[Phrase((1, 3), (0, 2))], complete=False)
        one = one._replace(linked=one.linked._replace(row=row))
        (tally,) = [t for r, t in alignment.readings([one]).items() if r.offset == 0]
        assert tally.scores() == {"phrase mass": pytest.approx((0.8 + 0.7) / 2)}
        assert alignment.chance([one]).scores()["phrase mass"] == pytest.approx(2 / 3)

    def test_not_aligning_is_told_with_both_figures(self):
        assert alignment.not_aligning([example([ONE], (1, 0), (2, 1))]) is None
        found = alignment.not_aligning([example([OTHER], (1, 0), (2, 1))])
        assert found == "the best head finds 50% of true partners, and 50% are found without looking"
        assert alignment.not_aligning([]) is None

    def test_no_sentence_is_in_both_halves(self):
        linked = [Linked(text, "x", [], [], row(text, "x")) for text in ("a", "a", "b", "c", "b", "c", "c")]
        halves = [[each.source for each in half] for half in in_halves(linked)]
        assert halves == [["a", "a", "c", "c", "c"], ["b", "b"]]

    def test_nothing_linked_gives_no_scores(self):
        assert scores([], [], [], PAIRS, chosen_on="nothing").scores == {}

    def test_the_mean_of_all_layers(self):
        one = example([ONE])
        more = AttentionMap(np.asarray([OTHER]), queries=one.maps[0].queries, keys=one.maps[0].keys, name="upper")
        found = alignment.readings([one._replace(maps=[*one.maps, more])])
        assert Reading("all layers", "mean", 0) in found and len(found) == 6

    def test_links_of_what_was_cut_are_not_looked_for(self):
        linked = Linked("aa bb", "x y", [(0, 2), (3, 5)], [(0, 1), (2, 3)], row("aa bb", "x y", (0, 0), (1, 1)))
        array = np.asarray([[[0.9, 0.1], [0.0, 1.0]]])
        map = AttentionMap(array, queries=["x", "end"], keys=["aa", "end"])
        one = aligned([map], linked.source_spans[:1], linked.target_spans[:1], linked)
        (tally,) = [t for r, t in alignment.readings([one]).items() if r.offset == 0]
        assert (tally.hits, tally.linked) == (1, 1)


class TestWordAligner:
    def test_two_sentences_tell_the_words_apart(self):
        pairs = [(["das", "Haus"], ["the", "house"]), (["das", "Buch"], ["the", "book"])]
        aligner = WordAligner(rounds=20).fit(pairs)
        assert aligner.weights(["Das", "Haus"], ["the", "house"])[0].argmax(axis=1).tolist() == [0, 1]
        assert aligner.shares["haus", "house"] > 0.9 > 0.1 > aligner.shares["haus", "the"]

    def test_one_round_by_hand(self):
        # Every meeting of a target word with two source words and none has shares (1 - 0.08) / 2 and 0.08.
        aligner = WordAligner(rounds=1).fit([(["a", "b"], ["x", "y"]), (["a"], ["x"])])
        # a: x in both (0.46 + 0.92), y once (0.46).
        assert aligner.shares["a", "x"] == pytest.approx(1.38 / 1.84)
        assert aligner.shares["", "x"] == pytest.approx(0.16 / 0.24)

    def test_rows_are_shares_and_what_is_missing_is_for_none(self):
        aligner = WordAligner(tension=4.0).fit(PAIRS_IN_WORDS)
        found = aligner.weights(["ein", "hund", "neu"], ["a", "dog"])
        assert found.shape == (1, 2, 3) and (found.sum(axis=-1) < 1).all() and (found >= 0).all()

    def test_a_tension_prefers_the_diagonal(self):
        words = ["w"] * 5
        flat, steep = (WordAligner(tension=tension).prior(5, 5) for tension in (0.0, 8.0))
        assert (
            np.allclose(flat[:, 1:], 0.92 / 5)
            and np.allclose(flat.sum(axis=1), 1)
            and np.allclose(steep.sum(axis=1), 1)
        )
        assert steep[:, 1:].argmax(axis=1).tolist() == list(range(len(words)))

    def test_words_never_seen_and_no_words(self):
        aligner = WordAligner().fit(PAIRS_IN_WORDS)
        assert np.isfinite(aligner.weights(["nie"], ["never"])).all()
        assert aligner.weights([], ["a"]).shape == (1, 1, 0) and aligner.weights(["ein"], []).shape == (1, 0, 1)
        assert WordAligner().fit([]).shares == {}

    @pytest.mark.parametrize("wrong", [{"tension": -1.0}, {"rounds": 0}, {"null": 0.0}, {"null": 1.0}])
    def test_numbers_that_cannot_be(self, wrong):
        with pytest.raises(ValueError, match="a word aligner takes"):
            WordAligner(**wrong)


PAIRS_IN_WORDS = [(source.split(), target.split()) for source, target in PAIRS]
