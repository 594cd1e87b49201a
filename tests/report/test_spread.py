import math

import pytest

from andrea_exp.report.spread import paired, spread, written

# Six paired differences whose mean and 95 % t interval were computed by hand from
# t(5, .975) = 2.570582 and their standard deviation .01721337.
DIFFERENCES = [0.021, 0.034, -0.004, 0.047, 0.019, 0.030]


def test_paired_interval_is_that_of_the_t_distribution() -> None:
    found = paired(DIFFERENCES)
    assert found.mean == pytest.approx(0.0245)
    assert found.low == pytest.approx(0.0064357, abs=5e-8)
    assert found.high == pytest.approx(0.0425643, abs=5e-8)
    assert found.pairs == 6


def test_a_normal_interval_would_be_too_short() -> None:
    half = 1.959964 * 0.01721337 / math.sqrt(6)
    assert 0.0245 - half != pytest.approx(0.0064357, abs=5e-8)


def test_one_pair_has_no_interval() -> None:
    assert paired([0.25]) == (0.25, None, None, 1)


def test_what_was_not_measured_is_left_out() -> None:
    assert spread([1.0, None, 3.0, math.nan]) == (2.0, pytest.approx(math.sqrt(2)), 2)
    assert spread([None]) == (None, None, 0)


def test_the_deviation_is_written_only_with_several_values() -> None:
    assert "±" not in written([1.5])
    assert "±0.707" in written([1.0, 2.0])
