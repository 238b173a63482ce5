"""What a prediction loses without the keys that it looked at: by hand, and on a model whose look is all it has."""

import math

import numpy as np
import pytest
import torch
from copier import Copier, Scenes, scene

from core.faithfulness import Forbidding, Steps, Trial, faithfulness, steps_of
from core.maps.scores import rank_correlation
from core.posterior import posterior, posterior_maps

WEIGHTS = np.array([[0.6, 0.3, 0.1, 0.0], [0.0, 0.0, 0.0, 1.0], [0.1, 0.2, 0.3, 0.4]])
SPECIAL = np.array([False, False, False, True])


class TestChoosing:
    def test_steps_that_look_at_marks_alone_are_left_out(self):
        steps = steps_of(WEIGHTS, SPECIAL, 1, 0)
        assert steps.steps.tolist() == [0, 2] and steps.keys.tolist() == [0, 1, 2]
        assert steps.chosen["most attended"].tolist() == [[0], [2]]
        assert steps.chosen["least attended"].tolist() == [[2], [0]]

    def test_two_keys(self):
        steps = steps_of(WEIGHTS, SPECIAL, 2, 0)
        assert steps.trials("most attended") == [Trial(0, (0, 1)), Trial(2, (2, 1))]
        assert steps.trials("most attended", alone=True) == [Trial(0, (2,)), Trial(2, (0,))]
        assert all(len(set(row)) == 2 for row in steps.chosen["random"].tolist())

    def test_nothing_to_choose_from(self):
        assert not len(steps_of(WEIGHTS, SPECIAL, 3, 0).steps)

    @pytest.mark.parametrize(
        ("steps", "keys", "left_out"), [(3, 200, 200), (10, 200, 67), (100, 200, 16), (100, 10, 10)]
    )
    def test_of_many_keys_some_are_left_out_one_by_one_the_same_for_all_steps(self, steps, keys, left_out):
        rows = np.random.default_rng(0).dirichlet(np.ones(keys + 1), size=steps)
        chosen = steps_of(rows, np.arange(keys + 1) == 0, 1, 0)
        trials = chosen.one_by_one()
        assert len(trials) == steps * left_out == chosen.weights[:, chosen.ranked].size
        assert {trial.keys for trial in trials[:left_out]} == {trial.keys for trial in trials[-left_out:]}
        assert (0,) not in {trial.keys for trial in trials}

    def test_a_shuffled_row_knows_nothing(self):
        rows = np.tile(WEIGHTS[[0]], (3000, 1))
        chosen = steps_of(rows, SPECIAL, 1, 7).chosen
        for choice in ("shuffled", "random"):
            assert np.bincount(chosen[choice][:, 0]) / 3000 == pytest.approx([1 / 3] * 3, abs=0.04)


class TestByHand:
    def test_what_forbidding_costs(self):
        """With 1/2 on word 1 of four its logit is ln 9 / 2 = ln 3, the others' ln 9 / 6."""
        other = 9 ** (1 / 6)
        before = math.log(3 / (3 + 3 * other))
        without_it = math.log(1 / (1 + 3 * 9 ** (1 / 3)))
        without_another = math.log(9**0.6 / (9**0.6 + 1 + 2 * 9**0.2))
        found = faithfulness(Copier(), Scenes(scene()), [scene()])
        assert found["faithfulness, forbidden, most attended"].value == pytest.approx(before - without_it, abs=1e-5)
        alone = math.log(9**0.75 / (9**0.75 + 2 + 9**0.25))  # the mark may be looked at: 3/4 and 1/4
        assert found["faithfulness, forbidden all others"].value == pytest.approx(before - alone, abs=1e-5)
        assert found["faithfulness, forbidden, least attended"].value == pytest.approx(
            before - without_another, abs=1e-5
        )
        assert "1 examples" in found["faithfulness, forbidden, random"].signature

    def test_what_replacing_costs(self):
        """The look stays where it was, and finds nothing there."""
        other = 9 ** (1 / 6)
        before, after = math.log(3 / (3 + 3 * other)), math.log(1 / (1 + 3 * other))
        found = faithfulness(Copier(), Scenes(scene()), [scene()])
        assert found["faithfulness, replaced, most attended"].value == pytest.approx(before - after, abs=1e-5)

    def test_weights_and_what_leaving_out_costs_rank_alike(self):
        found = faithfulness(Copier(), Scenes(scene()), [scene()])
        assert found["faithfulness, forbidden, rank correlation"].value == pytest.approx(1.0)

    def test_no_step_no_score(self):
        assert faithfulness(Copier(), Scenes(), []) == {}

    def test_trials_in_small_parts_are_the_same(self):
        model, data = Copier(), Scenes(scene())
        weights = np.full((1, 4), 0.25)
        method = Forbidding(model, data, scene(), (1, 4))
        steps = Steps(np.array([0]), weights[:, :3], np.arange(3), {"random": np.array([[0]])})
        at_once = method(steps.one_by_one())
        method.rows = 1
        assert np.allclose(method(steps.one_by_one()), at_once)


class TestPosterior:
    def test_bayes_by_hand(self):
        prior = np.array([[0.5, 0.25, 0.25], [0.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
        likelihood = np.log(np.array([[0.1, 0.4, 0.2], [0.1, 0.1, 0.1], [0.3, 0.1, 0.9]]))
        expected = [[0.25, 0.5, 0.25], [0, 0, 0], [0.75, 0.25, 0]]
        assert np.allclose(posterior(prior, likelihood), expected)

    def test_a_look_at_what_was_not_said_loses_its_weight(self):
        """The look prefers key 1, and the reference says the word of key 2: alone, a key says its word with 9/12."""
        said = scene()._replace(said=torch.tensor([2]))
        ((found,),) = posterior_maps(Copier(), Scenes(said), [said])
        joint = np.array([1 / 6 * 1 / 12, 1 / 2 * 1 / 12, 1 / 6 * 9 / 12, 1 / 6 * 1 / 12])
        assert np.allclose(found.weights[0, 0], joint / joint.sum(), atol=1e-6)
        assert found.name == "posterior of all layers" and found.special[-1]


class TestStatistics:
    @pytest.mark.parametrize(
        ("one", "other", "expected"),
        [([1, 2, 3], [10, 20, 90], 1.0), ([1, 2, 3], [3, 2, 1], -1.0), ([1, 2, 3, 4], [1, 3, 2, 4], 0.8)],
    )
    def test_rank_correlation(self, one, other, expected):
        assert rank_correlation(np.array(one, dtype=float), np.array(other, dtype=float)) == pytest.approx(expected)

    def test_equal_values_share_their_ranks(self):
        # Ranks 1.5 1.5 3 against 1 2 3: 1.5 / sqrt(1.5 * 2).
        found = rank_correlation(np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0]))
        assert found == pytest.approx(1.5 / math.sqrt(3.0))

    def test_a_constant_has_no_rank(self):
        assert math.isnan(rank_correlation(np.zeros(3), np.arange(3.0)))
