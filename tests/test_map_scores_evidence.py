"""Looking at the evidence, and from left to right, against numbers worked by hand."""

import itertools

import numpy as np
import pytest

from core.maps import evidence, monotonicity
from core.maps.bootstrap import bootstrap_interval

WEIGHTS = np.array([[[0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0], [0, 1, 0, 0]], [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]])


class TestMassOn:
    @pytest.mark.parametrize(
        ("spans", "mass", "even"),
        [
            ([(1, 3)], (0.5 + 1) / 2, 0.5),
            ([(0, 4)], 1, 1),
            ([(0, 2), (1, 3)], (0.6 + 1) / 2, 0.75),  # key 1 counts once
            ([(3, 4)], 0.2, 0.25),
            ([], 0, 0),
        ],
    )
    def test_rows_that_attend_are_averaged(self, spans, mass, even):
        found = evidence.mass_on(WEIGHTS, spans)
        assert found[0] == pytest.approx(mass) and np.isnan(found[1])
        assert evidence.uniform_mass(spans, 4) == even
        if spans:
            assert evidence.mass_on(np.full((1, 2, 4), 0.25), spans)[0] == pytest.approx(even)

    @pytest.mark.parametrize("span", [(2, 2), (3, 1), (-1, 2), (3, 5)])
    def test_a_span_that_is_empty_or_outside_is_named(self, span):
        with pytest.raises(ValueError, match=r"within the 4 keys.*received \("):
            evidence.mass_on(WEIGHTS, [span])


class TestAveragePrecision:
    @pytest.mark.parametrize(
        ("scores", "relevant", "expected"),
        [
            ([0.9, 0.8, 0.7, 0.6], {0, 2}, (1 + 2 / 3) / 2),
            ([0.6, 0.7, 0.8, 0.9], {0}, 1 / 4),
            ([0.9, 0.8, 0.1], {0, 1}, 1),
            ([0.5, 0.5], {0}, (1 + 1 / 2) / 2),
            ([0.5, 0.5, 0.1], {2}, 1 / 3),
            ([0.9, 0.5, 0.5], {0, 1}, (1 + (2 / 2 + 2 / 3) / 2) / 2),
            ([0.0, 0.0, 0.0], {0, 1}, (1 + 5 / 6 + 7 / 12) / 3),  # relevant first; in places 1 and 3; last
            ([0.3], {0}, 1),
            ([0.2, 0.2], {0, 1}, 1),
        ],
    )
    def test_by_hand(self, scores, relevant, expected):
        assert evidence.average_precision(np.array(scores), relevant) == pytest.approx(expected)

    def test_equal_scores_count_as_the_mean_of_all_orders(self):
        scores, relevant = np.array([0.9, 0.5, 0.5, 0.5, 0.2, 0.2]), {1, 2, 5}
        found = []
        for order in itertools.permutations(range(6)):
            if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order)):
                places = [place for place, item in enumerate(order, start=1) if item in relevant]
                found.append(np.mean([count / place for count, place in enumerate(places, start=1)]))
        assert len(found) == 12
        assert evidence.average_precision(scores, relevant) == pytest.approx(np.mean(found))

    def test_random_order_is_the_mean_of_all_orders(self):
        assert evidence.random_average_precision(3, 2) == pytest.approx(29 / 36)
        assert evidence.random_average_precision(4, 1) == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
        assert evidence.random_average_precision(5, 5) == pytest.approx(1)

    def test_nothing_relevant_is_no_number(self):
        assert np.isnan(evidence.average_precision(np.array([0.1, 0.2]), []))
        assert np.isnan(evidence.average_precision(np.zeros(0), []))
        assert np.isnan(evidence.random_average_precision(3, 0))

    @pytest.mark.parametrize(("scores", "relevant"), [([0.1], [1]), ([0.1], [-1]), ([np.nan], [0]), ([], [0])])
    def test_misfits_are_named(self, scores, relevant):
        with pytest.raises(ValueError, match="finite scores and relevant items from 0 to"):
            evidence.average_precision(np.array(scores, dtype=float), relevant)


class TestForwardShare:
    @pytest.mark.parametrize(
        ("keys", "share"),
        [([0, 1, 2], 1), ([2, 1, 0], 0), ([0, 2, 1, 1], 2 / 3), ([1, -1, 2, -1, 0], 1 / 2), ([3, 3], 1)],
    )
    def test_steps_that_do_not_go_back(self, keys, share):
        weights = np.vstack([np.eye(4), np.zeros(4)])[keys][None]
        assert monotonicity.forward_share(weights).tolist() == pytest.approx([share])

    def test_the_expected_key_counts_and_not_the_largest(self):
        rows = np.array([[0, 1, 0], [0.5, 0, 0.5], [0.6, 0, 0.4]])  # keys 1, 1 and 0.8
        assert monotonicity.forward_share(rows[None]).tolist() == [0.5]
        assert monotonicity.forward_share(rows[None] / 4).tolist() == [0.5]

    def test_standing_is_not_going_back_in_single_precision(self):
        row = np.random.default_rng(0).dirichlet(np.ones(1500)).astype(np.float32)
        shaken = np.stack([row, row * np.float32(1.0000001), row])
        assert monotonicity.forward_share(shaken[None]).tolist() == [1]

    def test_without_a_step_there_is_no_number(self):
        one = np.array([[[0, 0], [1, 0]], [[0, 0], [0, 0]]], dtype=float)
        assert np.isnan(monotonicity.forward_share(one)).tolist() == [True, True]
        assert np.isnan(monotonicity.forward_share(np.zeros((1, 0, 3)))).tolist() == [True]


class TestMassWithin:
    def test_queries_with_frames_are_averaged_and_zeros_have_nothing_within(self):
        assert monotonicity.mass_within(WEIGHTS, {0: (1, 3)}).tolist() == pytest.approx([0.5, 0])
        assert monotonicity.mass_within(WEIGHTS, {0: (1, 3), 1: (0, 4)}).tolist() == pytest.approx([0.25, 0])
        assert monotonicity.mass_within(WEIGHTS / 2, {0: (0, 2), 2: (1, 2)}).tolist() == pytest.approx([0.65, 0])

    def test_even_weights_are_the_baseline(self):
        frames = {0: (1, 3), 2: (0, 4)}
        assert monotonicity.uniform_within(frames, 4) == 0.75
        assert monotonicity.mass_within(np.full((1, 3, 4), 0.25), frames).tolist() == pytest.approx([0.75])

    def test_without_frames_there_is_no_number(self):
        assert np.isnan(monotonicity.mass_within(WEIGHTS, {})).tolist() == [True, True]
        assert np.isnan(monotonicity.uniform_within({}, 4))

    @pytest.mark.parametrize("frames", [{0: (2, 2)}, {0: (3, 5)}, {3: (0, 1)}, {-1: (0, 1)}])
    def test_misfits_are_named(self, frames):
        with pytest.raises(ValueError, match="within the 4 keys|frames for query"):
            monotonicity.mass_within(WEIGHTS, frames)


class TestBootstrap:
    def test_two_values(self):
        # Means of two draws are 0, 0.5 and 1, with probabilities 1/4, 1/2 and 1/4.
        assert bootstrap_interval([0.0, 1.0]) == (0, 1)
        assert bootstrap_interval([0.0, 1.0], level=0.4) == (0.5, 0.5)

    def test_near_the_normal_interval_where_values_are_many(self):
        values = np.random.default_rng(1).normal(3, 2, size=400)
        low, high = bootstrap_interval(list(map(float, values)))
        half = 1.96 * values.std() / 20
        assert (low, high) == (
            pytest.approx(values.mean() - half, abs=0.03),
            pytest.approx(values.mean() + half, abs=0.03),
        )

    def test_the_seed_is_all_the_chance_there_is(self):
        values = [0.1, 0.5, 0.2, 0.9, 0.7]
        assert bootstrap_interval(values) == bootstrap_interval(values)
        assert bootstrap_interval(values, samples=50) != bootstrap_interval(values, samples=50, seed=1)

    def test_one_value_equal_values_and_none(self):
        assert bootstrap_interval([0.25]) == bootstrap_interval([0.25] * 9) == (0.25, 0.25)
        assert np.isnan(bootstrap_interval([])).all()

    @pytest.mark.parametrize(
        ("values", "how"),
        [([float("nan")], {}), ([1.0], {"level": 1.0}), ([1.0], {"level": 0.0}), ([1.0], {"samples": 0})],
    )
    def test_misfits_are_named(self, values, how):
        with pytest.raises(ValueError, match="A bootstrap takes"):
            bootstrap_interval(values, **how)
