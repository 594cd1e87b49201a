"""Tests and intervals, against scipy and against worked figures."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

from andrea_exp.evidence.paired import degenerate, sign_flip, skewness, t_interval, t_test

WORKED = [0.021, 0.034, -0.004, 0.047, 0.019, 0.030]
"""Mean .0245 and standard deviation .01721337."""
DRAWN = np.random.default_rng(3).normal(0.4, 1, size=(5, 7))


def test_the_worked_example():
    assert t_interval(WORKED, level=0.95) == pytest.approx((0.0064357, 0.0425643), abs=5e-8)
    assert sign_flip(WORKED) == 0.0625


@pytest.mark.parametrize("count", [2, 3, 6, 8, 10])
def test_the_t_test_is_scipys(count: int):
    sample = DRAWN.ravel()[:count]
    test: Any = stats.ttest_1samp(sample, 0)
    assert t_test(sample) == pytest.approx(test.pvalue)
    found = test.confidence_interval(0.9)
    assert t_interval(sample, level=0.9) == pytest.approx((float(found.low), float(found.high)))


@pytest.mark.parametrize("count", [3, 6, 8])
def test_the_sign_flip_is_the_share_of_all_patterns(count: int):
    sample = DRAWN.ravel()[:count]
    patterns = np.array(list(itertools.product([-1, 1], repeat=count)))
    share = np.mean(np.abs(patterns @ sample) >= abs(sample.sum()) - 1e-9)
    assert sign_flip(sample) == pytest.approx(float(share))


def test_unanimous_signs_give_the_smallest_p_there_is():
    for count, smallest in {3: 0.25, 5: 0.0625, 6: 0.03125, 8: 0.0078125}.items():
        assert sign_flip(np.arange(1, count + 1)) == smallest


def test_ties_of_sums_count_however_they_are_rounded():
    """Of .1, .2, -.3 every pattern sums to at least the observed 0, up to rounding."""
    assert sign_flip([0.1, 0.2, -0.3]) == 1
    assert sign_flip(np.zeros(6)) == 1


def test_many_pairs_are_judged_by_a_sample_of_patterns_near_the_exact_p():
    sample = np.random.default_rng(8).normal(0.5, 1, size=18)
    patterns = 1 - 2 * ((np.arange(2**18)[:, None] >> np.arange(18)) & 1)
    exact = np.mean(np.abs(patterns @ sample) >= abs(sample.sum()) - 1e-9)
    assert sign_flip(sample) == pytest.approx(float(exact), abs=4 * (exact / 2**15) ** 0.5)
    assert sign_flip(sample) > 0


def test_leading_axes_are_judged_apart():
    assert sign_flip(DRAWN) == pytest.approx([float(sign_flip(row)) for row in DRAWN])
    assert t_test(DRAWN) == pytest.approx([float(t_test(row)) for row in DRAWN])
    assert skewness(DRAWN) == pytest.approx([float(skewness(row)) for row in DRAWN])


def test_skewness_is_scipys_without_bias():
    assert skewness(DRAWN) == pytest.approx(stats.skew(DRAWN, axis=-1, bias=False))


@given(arrays.arrays(float, 6, elements=st.floats(-1e6, 1e6)), st.floats(0.01, 100))
def test_no_test_depends_on_the_unit(sample: np.ndarray, unit: float):
    scaled = sample * unit
    assert sign_flip(scaled) == sign_flip(-scaled)
    if not degenerate(sample) and np.ptp(sample) > 1e-3 and unit > 0.1:
        assert t_test(scaled) == pytest.approx(float(t_test(sample)), rel=1e-6)


def test_differences_without_spread_are_known_whatever_their_rounding():
    assert degenerate([0.3] * 4)
    assert degenerate([0.1 + 0.2, 0.3, 0.3])
    assert degenerate([5.0])
    assert not degenerate([0.3, 0.3, 0.30001])
    assert np.isnan(t_test([0.1 + 0.2, 0.3, 0.3]))


def test_one_difference_has_an_interval_without_ends():
    assert t_interval([0.4], level=0.95) == (-np.inf, np.inf)
