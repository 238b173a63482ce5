"""Scores of attention maps, against numbers worked by hand."""

import numpy as np
import pytest

from core.maps import scores

THREE_WORDS = np.array(
    [
        [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.1, 0.6, 0.3]],  # looks at keys 0, 2, 1
        [[0.7, 0.2, 0.1], [0.5, 0.4, 0.1], [0.0, 0.0, 0.0]],  # looks at keys 0, 0, none
    ],
    dtype=np.float32,
)


class TestMerge:
    def test_keys_are_summed_queries_averaged_and_specials_dropped(self):
        # Query pieces: word 0, word 0, word 1, end. Key pieces: word 0, word 1, word 1, end.
        weights = np.array([[[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3], [0, 0.4, 0.6, 0], [0, 0, 0, 1]]])
        merged = scores.merge(weights, [0, 0, 1, -1], [0, 1, 1, -1])
        assert np.allclose(merged, [[[0.3, 0.35], [0, 1]]])

    def test_words_need_not_be_neighbours_and_may_be_empty(self):
        weights = np.array([[[0.2, 0.3, 0.5]]])
        assert np.allclose(scores.merge(weights, [1], [2, 0, 2]), [[[0, 0, 0], [0.3, 0, 0.7]]])

    def test_without_words_nothing_is_left(self):
        assert scores.merge(np.ones((2, 1, 1)), [-1], [0]).shape == (2, 0, 1)

    def test_misfits_are_named(self):
        with pytest.raises(ValueError, match="Each of the 2 key pieces.*received 3 numbers"):
            scores.merge(np.ones((1, 1, 2)), [0], [0, 1, 2])
        with pytest.raises(ValueError, match="1 query pieces"):
            scores.merge(np.ones((1, 1, 2)), [-2], [0, 1])


class TestLinks:
    def test_links_are_key_then_query(self):
        hits, total = scores.link_counts(THREE_WORDS, {(0, 0), (2, 1), (1, 2)})
        assert (hits.tolist(), total) == ([3, 1], 3)
        assert scores.link_counts(THREE_WORDS, {(0, 0), (1, 2)})[1] == 2

    def test_any_partner_is_a_hit_and_unlinked_words_do_not_count(self):
        links = [(0, 1), (2, 1), (2, 1), (0, 2)]  # word 1 has two partners, word 0 none
        hits, total = scores.link_counts(THREE_WORDS, links)
        assert (hits.tolist(), total) == ([1, 1], 2)
        assert scores.link_accuracy(THREE_WORDS, links).tolist() == [0.5, 0.5]

    def test_a_row_of_zeros_is_no_hit_and_of_equal_keys_the_first_counts(self):
        assert scores.link_counts(np.zeros((1, 1, 2)), [(0, 0)])[0].tolist() == [0]
        tie = np.full((1, 1, 2), 0.5)
        assert scores.link_accuracy(tie, [(0, 0)]).tolist() == [1]
        assert scores.link_accuracy(tie, [(1, 0)]).tolist() == [0]

    def test_a_corpus_is_summed_before_it_is_divided(self):
        counts = [scores.link_counts(THREE_WORDS, links) for links in ([(0, 0)], [(2, 1), (1, 2)])]
        hits, total = sum(hits for hits, _ in counts), sum(total for _, total in counts)
        assert (hits / total).tolist() == [1, 1 / 3]

    def test_nothing_linked(self):
        assert scores.link_counts(THREE_WORDS, [])[1] == 0
        assert np.isnan(scores.link_accuracy(THREE_WORDS, [])).tolist() == [True, True]
        assert np.isnan(scores.uniform_accuracy([], 3, 3))

    @pytest.mark.parametrize("link", [(3, 0), (0, 3), (-1, 0), (0, -1)])
    def test_a_link_outside_is_named(self, link):
        with pytest.raises(ValueError, match=rf"link \(key {link[0]}, query {link[1]}\) is outside 3 key words"):
            scores.link_counts(THREE_WORDS, [link])


class TestBaselines:
    def test_uniform_is_partners_over_keys(self):
        # Query 0 has one partner of four keys, query 2 has two: (1/4 + 2/4) / 2.
        assert scores.uniform_accuracy([(3, 0), (0, 2), (1, 2)], 3, 4) == 0.375

    @pytest.mark.parametrize(
        ("queries", "keys", "looks_at"),
        [(3, 3, [0, 1, 2]), (2, 4, [1, 3]), (4, 2, [0, 0, 1, 1]), (3, 5, [0, 2, 4]), (1, 4, [2]), (3, 1, [0, 0, 0])],
    )
    def test_diagonal(self, queries, keys, looks_at):
        weights = scores.diagonal(queries, keys)
        assert weights.shape == (1, queries, keys)
        assert weights.sum(axis=-1).tolist() == [[1] * queries]
        assert weights.argmax(axis=-1).tolist() == [looks_at]

    def test_diagonal_is_exact_on_long_axes(self):
        assert scores.diagonal(600, 450).argmax(axis=-1)[0].tolist() == [(2 * q + 1) * 450 // 1200 for q in range(600)]


class TestOffset:
    def test_row_q_is_what_was_looked_at_later(self):
        later = scores.at_offset(THREE_WORDS, 1)
        assert (later[:, :2] == THREE_WORDS[:, 1:]).all()
        assert not later[:, 2].any()
        assert (scores.at_offset(THREE_WORDS, 0) == THREE_WORDS).all()

    def test_a_step_that_does_not_exist_is_no_hit(self):
        # One step late, head 0 looks at keys 2, 1 and then nowhere.
        assert scores.link_accuracy(scores.at_offset(THREE_WORDS, 1), [(2, 0), (1, 1), (0, 2)])[0] == pytest.approx(
            2 / 3
        )

    def test_leading_axes_are_free_and_far_offsets_are_empty(self):
        assert scores.at_offset(np.eye(2), 1).tolist() == [[0, 1], [0, 0]]
        assert scores.at_offset(np.ones((2, 2, 3, 3)), 5).shape == (2, 2, 3, 3)
        assert not scores.at_offset(np.ones((1, 3, 3)), 5).any()

    def test_steps_go_forward(self):
        with pytest.raises(ValueError, match="received -1"):
            scores.at_offset(THREE_WORDS, -1)


class TestEntropy:
    def test_from_one_key_to_all_keys(self):
        one_hot, uniform = np.eye(4), np.full((4, 4), 0.25)
        two_of_four = np.array([[0.5, 0.5, 0, 0]] * 4)  # one bit of two
        assert scores.entropy(np.stack([one_hot, uniform, two_of_four])).tolist() == [0, 1, 0.5]

    def test_rows_are_averaged_and_rows_of_zeros_left_out(self):
        weights = np.array([[[1, 0], [0.5, 0.5], [0, 0]], [[0, 0], [0, 0], [0, 0]]])
        spread = scores.entropy(weights)
        assert spread[0] == 0.5 and np.isnan(spread[1])

    def test_merged_rows_count_as_if_they_summed_to_one(self):
        assert scores.entropy(np.array([[[0.2, 0.2, 0, 0]]]))[0] == pytest.approx(0.5)

    def test_a_single_key_leaves_no_choice(self):
        assert scores.entropy(np.ones((1, 3, 1))).tolist() == [0]

    def test_no_rows_are_no_number(self):
        assert np.isnan(scores.entropy(np.zeros((2, 0, 3)))).all()


class TestShareOnSpecial:
    def test_rows_that_attend_are_averaged(self):
        weights = np.array([[[0.2, 0.8], [0, 0], [1, 0]], [[0, 0], [0, 0], [0, 0]]])
        share = scores.special_share(weights, [False, True])
        assert share[0] == pytest.approx(0.4) and np.isnan(share[1])  # (0.8 + 0) / 2

    def test_merged_rows_count_as_if_they_summed_to_one(self):
        assert scores.share_on(np.array([[[0.1, 0.1, 0.2]]]), [True, False, True]).tolist() == pytest.approx([0.75])

    def test_none_and_all_are_marked(self):
        assert scores.share_on(THREE_WORDS, [False] * 3).tolist() == [0, 0]
        assert scores.share_on(THREE_WORDS, [True] * 3).tolist() == pytest.approx([1, 1])

    def test_marks_are_as_many_as_keys(self):
        with pytest.raises(ValueError, match="Each of the 3 keys is marked or not; received 2 marks"):
            scores.special_share(THREE_WORDS, [True, False])


class TestCoverage:
    def test_a_key_is_covered_by_as_much_as_a_query_has(self):
        weights = np.array([[[0.5, 0.5, 0], [0.9, 0, 0.1]]])  # sums 1.4, 0.5 and 0.1
        assert scores.coverage(weights, [False, False, True]).tolist() == pytest.approx([0.75])
        assert scores.coverage(weights, [False] * 3).tolist() == pytest.approx([1.6 / 3])

    def test_each_key_once_is_all_and_one_key_only_is_one_of_them(self):
        one_key = np.array([[1, 0, 0, 0]] * 4)
        assert scores.coverage(np.stack([np.eye(4), one_key, np.full((4, 4), 0.25)]), [False] * 4).tolist() == [
            1,
            0.25,
            1,
        ]

    def test_few_queries_cannot_cover_many_keys(self):
        assert scores.coverage(np.full((1, 2, 8), 1 / 8), [False] * 8).tolist() == [0.25]

    def test_rows_of_zeros_cover_nothing_and_nothing_to_cover_is_no_number(self):
        assert scores.coverage(np.zeros((1, 2, 2)), [False, False]).tolist() == [0]
        assert np.isnan(scores.coverage(THREE_WORDS, [True] * 3)).tolist() == [True, True]
