"""Holm's correction against worked figures and its definition."""

import numpy as np
import pytest

from andrea_exp.evidence.holm import adjusted, levels
from andrea_exp.evidence.paired import t_interval, t_test


def test_the_worked_example():
    assert adjusted([0.01, 0.03, 0.04]) == pytest.approx([0.03, 0.06, 0.06])


def test_order_does_not_matter_and_p_stays_a_probability():
    assert adjusted([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert adjusted([0.6, 0.5, 0.9]).tolist() == [1, 1, 1]


def test_families_along_the_last_axis_are_apart():
    both = adjusted([[0.01, 0.03, 0.04], [0.5, 0.001, 0.02]])
    assert both == pytest.approx(np.array([[0.03, 0.06, 0.06], [0.5, 0.003, 0.04]]))


def test_a_claim_is_rejected_exactly_if_its_p_is_within_its_level():
    generator = np.random.default_rng(2)
    rejections = 0
    for _ in range(300):
        p = generator.random(5) ** 3 * 0.3
        rejected = adjusted(p) <= 0.05
        assert (p <= levels(p, alpha=0.05)).tolist() == rejected.tolist()
        rejections += int(rejected.sum())
    assert 100 < rejections < 1400


def test_the_interval_at_that_level_leaves_out_zero_exactly_if_the_claim_is_rejected():
    generator = np.random.default_rng(4)
    sweeps = generator.normal(0.9, 1, size=(60, 4, 8))
    seen = set[bool]()
    for claims in sweeps:
        p = t_test(claims)
        for sample, level, raised in zip(claims, levels(p, alpha=0.05), adjusted(p), strict=True):
            low, high = t_interval(sample, level=1 - level)
            assert (low > 0 or high < 0) == (raised <= 0.05)
            seen.add(bool(raised <= 0.05))
    assert seen == {True, False}
