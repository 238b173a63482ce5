"""Does a word look at the thing that it names? Scores of maps over a picture, against boxes drawn by people.

Boxes are of a query: `boxes[query]` lists those of the thing or things that it names. A query without boxes does not
count. Each score is a sum and the number of queries in it; add both up over a corpus, then divide.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from core.maps.scores import shares

Box = tuple[float, float, float, float]
"""Left, top, right and bottom (x0, y0, x1, y1), as shares of the picture's width and height from the top left."""
Boxes = Mapping[int, Sequence[Box]]

QUARTER = 0.25


def pointing_hits(weights: Float[np.ndarray, "Q K"], grid: tuple[int, int], boxes: Boxes) -> tuple[int, int]:
    """Hits of the pointing game (Zhang et al. 2016, "Top-down neural attention by excitation backprop"), and queries.

    A hit: the centre of the cell with the most weight is in one of the query's boxes or on its edge (they allow 15
    pixels more). Of equal cells the first counts, and a row of zeros is no hit. Raises ValueError for a grid that does
    not fit the weights, a query outside them, or a box outside the picture.
    """
    _check(weights, grid, boxes)
    rows, columns = grid
    hits = 0
    for query, things in boxes.items():
        row, column = divmod(int(weights[query].argmax()), columns)
        hits += bool(weights[query].any()) and _within((column + 0.5) / columns, (row + 0.5) / rows, things)
    return hits, len(boxes)


def mass_inside(weights: Float[np.ndarray, "Q K"], grid: tuple[int, int], boxes: Boxes) -> tuple[float, int]:
    """The sum over queries of the share of their weight inside their boxes, and queries.

    The weight of a cell is spread evenly over it, so a cell counts by the area that the boxes cover; where boxes
    overlap, once. Rows are divided by their sums, and a row of zeros has nothing inside. Raises as `pointing_hits`.
    """
    _check(weights, grid, boxes)
    parts = shares(weights)
    inside = [float(parts[query] @ covered(grid, things).ravel()) for query, things in boxes.items()]
    return sum(inside, 0.0), len(boxes)


def centre(boxes: Boxes) -> tuple[int, int]:
    """Hits of a pointer that always shows the middle of the picture, and queries: a baseline that is hard to beat."""
    return sum(_within(0.5, 0.5, things) for things in boxes.values()), len(boxes)


def uniform(boxes: Boxes) -> tuple[float, int]:
    """The sum of the areas of the queries' boxes, and queries: what a point drawn at random hits, and even weights
    have inside."""
    return sum((_area(things) for things in boxes.values()), 0.0), len(boxes)


def small(boxes: Boxes, *, below: float = QUARTER) -> dict[int, Sequence[Box]]:
    """The queries whose boxes cover less than a quarter of the picture (or `below`): large things are hit by luck."""
    return {query: things for query, things in boxes.items() if _area(things) < below}


def covered(grid: tuple[int, int], boxes: Sequence[Box]) -> Float[np.ndarray, "rows columns"]:
    """The share of each cell's area that the boxes cover together. Raises ValueError for a box outside the picture."""
    rows, columns = grid
    for box in boxes:
        _check_box(box)
    # All edges, of cells and of boxes, cut the picture into parts that are inside a box or outside as a whole.
    x = np.unique([*np.arange(columns + 1) / columns, *(edge for box in boxes for edge in box[::2])])
    y = np.unique([*np.arange(rows + 1) / rows, *(edge for box in boxes for edge in box[1::2])])
    across, down = (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2
    inside = np.zeros((len(down), len(across)), dtype=bool)
    for left, top, right, bottom in boxes:
        inside |= np.outer((top < down) & (down < bottom), (left < across) & (across < right))
    shares_of_cells = np.zeros(grid)
    cells = (down * rows).astype(int)[:, None], (across * columns).astype(int)[None]
    np.add.at(shares_of_cells, cells, np.outer(np.diff(y) * rows, np.diff(x) * columns) * inside)
    return np.minimum(shares_of_cells, 1)


def _area(boxes: Sequence[Box]) -> float:
    return float(covered((1, 1), boxes)[0, 0])


def _within(x: float, y: float, boxes: Sequence[Box]) -> bool:
    return any(left <= x <= right and top <= y <= bottom for left, top, right, bottom in boxes)


def _check(weights: Float[np.ndarray, "Q K"], grid: tuple[int, int], boxes: Boxes) -> None:
    queries, keys = weights.shape
    if grid[0] * grid[1] != keys:
        raise ValueError(f"A grid of {grid[0]} x {grid[1]} has no {keys} cells, but the weights have {keys} keys.")
    for query, things in boxes.items():
        if not 0 <= query < queries:
            raise ValueError(f"There are boxes for query {query}, but the weights have {queries}, counted from 0.")
        for box in things:
            _check_box(box)


def _check_box(box: Box) -> None:
    left, top, right, bottom = box
    if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
        raise ValueError(
            f"A box is (x0, y0, x1, y1) in shares of the picture, 0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1; received "
            f"{tuple(box)}. Divide pixels by the picture's width and height, and cut at its edges."
        )
