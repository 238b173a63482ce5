"""How sure a mean is: the percentile bootstrap (Efron and Tibshirani 1993, chapter 13)."""

import numpy as np
from jaxtyping import Float


def bootstrap_interval(
    values: Float[np.ndarray, " N"], *, level: float = 0.95, samples: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """The interval that holds the mean of `level` of all resamples of these values. The same seed gives the same.

    Raises ValueError where there is no value, or the level is not between 0 and 1.
    """
    if not len(values) or not 0.0 < level < 1.0:
        raise ValueError(f"A bootstrap needs values and a level between 0 and 1; received {len(values)} and {level}.")
    chance = np.random.default_rng(seed)
    means = values[chance.integers(len(values), size=(samples, len(values)))].mean(axis=-1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
