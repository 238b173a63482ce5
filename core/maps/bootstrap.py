"""How far a mean may be off because other examples would have been drawn."""

import math
from collections.abc import Sequence

import numpy as np


def bootstrap_interval(
    values: Sequence[float], *, level: float = 0.95, samples: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Low and high end of a percentile interval of the mean (Efron and Tibshirani 1993), from drawing the values anew.

    Give one value an independent example, such as a picture, not one a word of it. NaN without values; a single value
    is its own interval, which says nothing. Raises ValueError where a value is not finite, `level` is not between 0
    and 1, or `samples` is below 1.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all() or not 0 < level < 1 or samples < 1:
        raise ValueError(
            "A bootstrap takes a list of finite values, a level between 0 and 1 and at least 1 sample; received values "
            f"of shape {array.shape} ({np.count_nonzero(~np.isfinite(array))} not finite), level {level}, "
            f"samples {samples}. Leave out examples without a score."
        )
    if not len(array):
        return math.nan, math.nan
    random = np.random.default_rng(seed)
    means = [array[random.integers(len(array), size=len(array))].mean() for _ in range(samples)]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
