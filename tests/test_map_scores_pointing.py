"""Pointing at the thing that a word names, against numbers worked by hand."""

import numpy as np
import pytest

from core.maps import pointing

WHOLE, LEFT, TOP_LEFT = (0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 0.5, 1.0), (0.0, 0.0, 0.5, 0.5)
NOTHING = np.zeros((1, 6))
BELOW = np.array([[0.1, 0.2, 0.2, 0.0, 0.4, 0.1]])
"""Over 2 x 3 cells: the most is in the middle of the lower row, whose centre is x = 1/2, y = 3/4."""


class TestPointingGame:
    @pytest.mark.parametrize(
        ("box", "hits"),
        [
            ((0.4, 0.5, 0.6, 1.0), 1),
            ((0.4, 0.0, 0.6, 0.5), 0),  # the cell above it
            ((0.5, 0.75, 1.0, 1.0), 1),  # the centre is its corner
            ((0.51, 0.5, 1.0, 1.0), 0),  # half of the cell, but not its centre
            (WHOLE, 1),
        ],
    )
    def test_the_centre_of_the_largest_cell_decides(self, box, hits):
        assert pointing.pointing_hits(BELOW, (2, 3), {0: [box]}) == (hits, 1)

    def test_the_same_weights_on_another_grid_point_elsewhere(self):
        lower = {0: [(0.0, 0.5, 1.0, 1.0)]}
        assert pointing.pointing_hits(BELOW, (2, 3), lower) == (1, 1)
        assert pointing.pointing_hits(BELOW, (1, 6), {0: [(0.7, 0.0, 0.8, 1.0)]}) == (1, 1)  # centre 4.5 / 6

    def test_any_box_of_the_query_and_only_queries_with_boxes(self):
        weights = np.vstack([BELOW, np.eye(6)[[0, 2]]])
        boxes = {0: [TOP_LEFT, (0.4, 0.6, 0.6, 0.9)], 2: [TOP_LEFT]}
        assert pointing.pointing_hits(weights, (2, 3), boxes) == (1, 2)

    def test_zeros_ties_and_nothing_named(self):
        assert pointing.pointing_hits(NOTHING, (2, 3), {0: [WHOLE]}) == (0, 1)
        tie = np.full((1, 4), 0.25)
        assert pointing.pointing_hits(tie, (2, 2), {0: [TOP_LEFT]}) == (1, 1)
        assert pointing.pointing_hits(tie, (2, 2), {0: [(0.5, 0.5, 1.0, 1.0)]}) == (0, 1)
        assert pointing.pointing_hits(tie, (2, 2), {0: []}) == (0, 1)
        assert pointing.pointing_hits(tie, (2, 2), {}) == (0, 0)

    def test_misfits_are_named(self):
        with pytest.raises(ValueError, match="grid of 2 x 2 has no 6 cells"):
            pointing.pointing_hits(BELOW, (2, 2), {})
        with pytest.raises(ValueError, match="boxes for query 1, but the weights have 1"):
            pointing.mass_inside(BELOW, (2, 3), {1: [WHOLE]})

    @pytest.mark.parametrize(
        "box", [(0.0, 0.0, 1.1, 1.0), (-0.1, 0.0, 1.0, 1.0), (0.5, 0.0, 0.5, 1.0), (0.0, 0.9, 1.0, 0.1)]
    )
    def test_a_box_outside_the_picture_or_without_area_is_named(self, box):
        for score in (lambda: pointing.pointing_hits(BELOW, (2, 3), {0: [box]}), lambda: pointing.uniform({0: [box]})):
            with pytest.raises(ValueError, match="0 <= x0 < x1 <= 1"):
                score()


class TestMassInside:
    @pytest.mark.parametrize(
        ("boxes", "mass"),
        [
            ([LEFT], 0.1 + 0.2 / 2 + 0.0 + 0.4 / 2),  # a column and a half
            ([TOP_LEFT], 0.1 + 0.2 / 2),
            ([WHOLE], 1.0),
            ([(1 / 3, 0.25, 2 / 3, 0.75)], 0.2 / 2 + 0.4 / 2),  # half of two cells
            ([(0.9, 0.9, 1.0, 1.0)], 0.1 * 0.3 * 0.2),  # a corner: 0.1 of 1/3 across, 0.1 of 1/2 down
            ([LEFT, LEFT], 0.4),
            ([LEFT, (0.25, 0.0, 2 / 3, 1.0)], 0.7),  # together two columns
            ([], 0.0),
        ],
    )
    def test_cells_count_by_the_area_covered(self, boxes, mass):
        assert pointing.mass_inside(BELOW, (2, 3), {0: boxes}) == (pytest.approx(mass), 1)

    def test_queries_are_summed_and_rows_of_zeros_have_nothing_inside(self):
        weights = np.vstack([BELOW, NOTHING, BELOW / 2])
        mass, total = pointing.mass_inside(weights, (2, 3), {0: [LEFT], 1: [WHOLE], 2: [LEFT]})
        assert (mass, total) == (pytest.approx(0.8), 3)
        assert pointing.mass_inside(BELOW, (2, 3), {}) == (0, 0)

    def test_areas_of_any_boxes_agree_with_counted_points(self):
        random = np.random.default_rng(3)
        edges = np.sort(random.random((4, 2, 2)), axis=-1)
        boxes = [(float(x[0]), float(y[0]), float(x[1]), float(y[1])) for x, y in edges]
        points = (np.arange(1200) + 0.5) / 1200
        inside = np.zeros((1200, 1200), dtype=bool)
        for left, top, right, bottom in boxes:
            inside |= ((top < points) & (points < bottom))[:, None] & ((left < points) & (points < right))
        counted = inside.reshape(3, 400, 5, 240).mean(axis=(1, 3))
        assert np.allclose(pointing.covered((3, 5), boxes), counted, atol=0.01)


class TestBaselines:
    def test_the_centre_hits_what_is_in_the_middle(self):
        boxes = {0: [LEFT], 3: [(0.6, 0.6, 0.9, 0.9)], 4: [TOP_LEFT, WHOLE], 5: []}
        assert pointing.centre(boxes) == (2, 4)  # the edge of LEFT counts
        assert pointing.centre({}) == (0, 0)

    def test_uniform_is_the_area_and_what_even_weights_have_inside(self):
        boxes = {0: [LEFT], 1: [TOP_LEFT, (0.25, 0.25, 0.75, 0.75)]}  # 1/2; 1/4 + 1/4 - 1/16
        assert pointing.uniform(boxes) == (pytest.approx(0.5 + 0.4375), 2)
        assert pointing.uniform({}) == (0, 0)
        even = np.full((2, 35), 1 / 35)
        assert pointing.mass_inside(even, (5, 7), boxes)[0] == pytest.approx(pointing.uniform(boxes)[0])

    def test_small_things_are_under_a_quarter_together(self):
        boxes = {0: [TOP_LEFT], 1: [(0.0, 0.0, 0.5, 0.49)], 2: [(0.0, 0.0, 0.4, 0.4), (0.6, 0.6, 1.0, 1.0)], 3: [WHOLE]}
        assert list(pointing.small(boxes)) == [1]  # a quarter is not under a quarter; two of 0.16 are 0.32
        assert list(pointing.small(boxes, below=0.33)) == [0, 1, 2]
