"""Tests and intervals for the mean of paired differences; the seed is the unit.

Every function takes differences along the last axis and works on all leading ones at once, so that
the rule of verdicts is the same code for one claim and for thousands of simulated sweeps.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_EXACT = 16
"""Most pairs whose sign patterns are all enumerated; of more, a sample of them is drawn."""
AT_ONCE = 1024
"""Sweeps whose patterns are in memory together: what fits into a processor's cache."""
ROUNDING = 1e-12
"""Sums that differ by less than this share of the sum of magnitudes are ties."""

Values = NDArray[np.float64]


def t_test(differences: ArrayLike) -> Values:
    """Two-sided p of Student's t test that the mean is 0, with n - 1 degrees of freedom.

    NaN where the differences have no spread.
    """
    # scipy.special alone: scipy.stats takes most of a second to import. It has no types.
    from scipy.special import stdtr  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    values = np.asarray(differences, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = np.where(degenerate(values), np.nan, values.mean(axis=-1) / _error(values))
    return np.array(2 * stdtr(values.shape[-1] - 1, -np.abs(statistic)))


def sign_flip(differences: ArrayLike) -> Values:
    """Two-sided exact p that the differences are symmetric about 0.

    The share of all patterns of signs under which the sum is at least as far from 0 as it is. Its
    smallest value is 2 / 2^n. Beyond 16 pairs the patterns are a sample, the true one among them.
    """
    values = np.asarray(differences, dtype=float)
    rows = values.reshape(-1, values.shape[-1])
    parts = [_flipped(rows[at : at + AT_ONCE]) for at in range(0, len(rows), AT_ONCE)]
    return np.concatenate(parts).reshape(values.shape[:-1])


def _flipped(rows: Values) -> Values:
    observed = np.abs(rows.sum(axis=-1))
    slack = ROUNDING * np.abs(rows).sum(axis=-1)
    at_least_as_far = np.abs(rows @ _signs(rows.shape[-1])) >= (observed - slack)[:, None]
    return at_least_as_far.mean(axis=-1, dtype=np.float64)


def t_interval(differences: ArrayLike, *, level: float) -> tuple[float, float]:
    """Ends of the t interval of the mean; both infinite with a single difference.

    Args:
        differences: of n pairs.
        level: nominal coverage, such as .95.
    """
    from scipy.special import stdtrit  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    values = np.asarray(differences, dtype=float)
    count, mean = len(values), float(values.mean())
    if count < 2:
        return -math.inf, math.inf
    half = float(stdtrit(count - 1, (1 + level) / 2) * _error(values))
    return mean - half, mean + half


def skewness(differences: ArrayLike) -> Values:
    """Adjusted Fisher-Pearson coefficient of skewness (G1); NaN where it is not defined."""
    values = np.asarray(differences, dtype=float)
    count = values.shape[-1]
    if count < 3:
        return np.full(values.shape[:-1], np.nan)
    centred = values - values.mean(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        g1 = (centred**3).mean(axis=-1) / (centred**2).mean(axis=-1) ** 1.5
    return g1 * math.sqrt(count * (count - 1)) / (count - 2)


def degenerate(differences: ArrayLike) -> NDArray[np.bool_]:
    """Whether all differences are equal up to rounding, so that they have no spread to judge by."""
    values = np.asarray(differences, dtype=float)
    if values.shape[-1] < 2:
        return np.full(values.shape[:-1], fill_value=True)
    return np.ptp(values, axis=-1) <= ROUNDING * np.abs(values).max(axis=-1)


def _error(values: Values) -> Values:
    """Standard error of the mean."""
    return values.std(axis=-1, ddof=1) / math.sqrt(values.shape[-1])


@cache
def _signs(count: int) -> Values:
    """One column per pattern of signs, the first sign fixed: the others mirror these."""
    if count > MOST_EXACT:
        drawn = np.random.default_rng(0).choice([-1.0, 1.0], size=(count, 2 ** (MOST_EXACT - 1)))
        drawn[:, 0] = 1.0
        return drawn
    patterns = np.arange(2 ** (count - 1))
    return 1.0 - 2.0 * ((patterns >> np.arange(count)[:, None]) & 1)
