"""Bootstrap intervals, which describe a sample and decide nothing.

With few seeds they cover less than they say (for six normal ones .86 at a nominal .95); verdicts
rest on t and on signs.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 10_000


def mean_interval(differences: ArrayLike, *, level: float) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean; the same differences give the same ends.

    Args:
        differences: of n pairs.
        level: nominal coverage.
    """
    values = np.asarray(differences, dtype=float)
    means = _resampled(values).mean(axis=-1)
    return _ends(means, level=level)


def interquartile_mean(scores: Sequence[ArrayLike]) -> float:
    """Mean of the middle half of all scores, seeds and tasks together.

    Source: Agarwal et al. 2021 (arXiv:2108.13264), whose aggregate this is.

    Args:
        scores: of each task, one per seed, on a scale that tasks share.
    """
    # scipy.stats takes most of a second to import. It has no types of its own.
    from scipy.stats import trim_mean  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    return float(trim_mean(np.concatenate([np.asarray(each, float) for each in scores]), 0.25))


def interquartile_mean_interval(
    scores: Sequence[ArrayLike], *, level: float
) -> tuple[float, float]:
    """Stratified bootstrap interval of it: seeds are drawn again inside each task.

    Args:
        scores: of each task, one per seed.
        level: nominal coverage.
    """
    from scipy.stats import trim_mean  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    drawn = [_resampled(np.asarray(each, float), stream=task) for task, each in enumerate(scores)]
    return _ends(trim_mean(np.concatenate(drawn, axis=-1), 0.25, axis=-1), level=level)


def _resampled(values: NDArray[np.float64], *, stream: int = 0) -> NDArray[np.float64]:
    generator = np.random.default_rng([stream, len(values)])
    return values[generator.integers(len(values), size=(RESAMPLES, len(values)))]


def _ends(statistics: NDArray[np.float64], *, level: float) -> tuple[float, float]:
    low, high = np.quantile(statistics, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
