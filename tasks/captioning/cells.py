"""Cells of a picture by name: what a picture has in the place of words."""

import re

CELL = re.compile(r"r(\d+)c(\d+)", re.IGNORECASE)


def labels(grid: tuple[int, int]) -> list[str]:
    """Row and column of each cell, counted from 1 at the top left: "r1c1"."""
    rows, columns = grid
    return [f"r{row + 1}c{column + 1}" for row in range(rows) for column in range(columns)]


def keys_of(word: str, grid: tuple[int, int]) -> list[int]:
    """The cells that a label or a box stands for. A box has the cells whose middle is in it, or the one that it is in.

    Raises:
        ValueError: if it is neither, or lies outside the picture.
    """
    rows, columns = grid
    if match := CELL.fullmatch(word.strip()):
        row, column = int(match[1]), int(match[2])
        if not (1 <= row <= rows and 1 <= column <= columns):
            raise ValueError(f"{word!r} is outside the picture: its cells are r1c1 to r{rows}c{columns}")
        return [(row - 1) * columns + column - 1]
    left, top, right, bottom = _box(word, grid)
    inside = [
        row * columns + column
        for row in range(rows)
        for column in range(columns)
        if left <= (column + 0.5) / columns <= right and top <= (row + 0.5) / rows <= bottom
    ]
    middle = int((top + bottom) / 2 * rows) * columns + int((left + right) / 2 * columns)
    return inside or [middle]


def _box(word: str, grid: tuple[int, int]) -> tuple[float, float, float, float]:
    rows, columns = grid
    try:
        left, top, right, bottom = map(float, word.split(","))
    except ValueError:
        raise ValueError(
            f"there are no words in a picture: {word!r} is neither one of its cells, r1c1 (top left) to "
            f'r{rows}c{columns} (bottom right), nor a box "x0,y0,x1,y1" in shares of its width and height'
        ) from None
    if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
        raise ValueError(
            f"{word!r} is no box inside the picture: x0,y0,x1,y1 are shares of its width and height from the top left, "
            "0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1, such as 0,0,0.5,1 for its left half"
        )
    return left, top, right, bottom
