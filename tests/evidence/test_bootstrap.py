"""Bootstrap intervals and the interquartile mean."""

import numpy as np
import pytest
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

from andrea_exp.evidence.bootstrap import (
    interquartile_mean,
    interquartile_mean_interval,
    mean_interval,
)

SAMPLE = np.random.default_rng(1).normal(2, 1, size=12)


def test_the_interval_is_scipys_percentile_bootstrap():
    found = stats.bootstrap(
        (SAMPLE,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(5)
    ).confidence_interval
    assert mean_interval(SAMPLE, level=0.95) == pytest.approx((found.low, found.high), abs=0.03)


def test_equal_samples_have_equal_intervals_and_constants_one_of_no_width():
    assert mean_interval(SAMPLE, level=0.9) == mean_interval(list(SAMPLE), level=0.9)
    assert mean_interval([0.5] * 6, level=0.95) == (0.5, 0.5)


def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end():
    assert interquartile_mean([[0.0, 1.0, 2.0, 9.0], [3.0, 4.0, 5.0, 99.0]]) == (2 + 3 + 4 + 5) / 4


def test_seeds_are_drawn_inside_their_task():
    """Two tasks without spread inside: drawing across them would give one."""
    low, high = interquartile_mean_interval([[1.0] * 6, [3.0] * 6], level=0.95)
    assert (low, high) == (2.0, 2.0)
    spread = [np.arange(6.0), 10 + np.arange(6.0)]
    low, high = interquartile_mean_interval(spread, level=0.95)
    assert low < interquartile_mean(spread) < high


def test_tasks_are_drawn_apart_from_each_other():
    """The same draws in both tasks would double the variance of their sum's mean."""
    task = np.random.default_rng(2).normal(size=6)
    both = interquartile_mean_interval([task, task], level=0.95)
    alone = interquartile_mean_interval([task], level=0.95)
    assert both[1] - both[0] < 0.9 * (alone[1] - alone[0])
