"""The rule of verdicts: its cases one by one. How often it errs: test_calibration.py."""

from typing import Any

import numpy as np
import pytest
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

from andrea_exp.evidence.rule import Evidence, Verdict, better, decide, solved, verdict, within

CLEAR = np.array([0.5, 0.6, 0.4, 0.55, 0.45, 0.62, 0.41, 0.58])


def reached(evidence: Evidence, *, family: int = 1) -> Verdict:
    """The verdict on a claim among further ones that could not be tested."""
    p = np.array([float(evidence.p), *[1.0] * (family - 1)])
    signs = np.array([float(evidence.sign_p), *[1.0] * (family - 1)])
    favours = np.array([float(evidence.favours), *[0.0] * (family - 1)])
    return verdict(float(decide(Evidence(p, signs, favours))[0]))


def test_a_mean_beyond_the_margin_confirms_and_one_short_of_it_refutes():
    assert reached(better(CLEAR, margin=0.1)) is Verdict.confirmed
    assert reached(better(CLEAR, margin=0.9)) is Verdict.refuted
    assert reached(better(CLEAR, margin=0.5)) is Verdict.undecided


def test_a_family_raises_the_bar():
    sample = np.array([0.3, 0.5, -0.05, 0.4, 0.1, 0.35, 0.2, 0.02])
    assert reached(better(sample, margin=0)) is Verdict.confirmed
    assert reached(better(sample, margin=0), family=9) is Verdict.undecided


def test_signs_veto_what_t_alone_would_confirm():
    """Six seeds, one against the others by a hair: t passes, but signs need all six."""
    sample = np.array([1.0, 1.1, 0.9, 1.05, 0.95, -0.01])
    evidence = better(sample, margin=0)
    assert evidence.p < 0.05 < evidence.sign_p
    assert reached(evidence) is Verdict.undecided


def test_differences_without_spread_are_judged_by_signs():
    assert better(np.full(8, 0.3), margin=0.1).p == 2 / 2**8
    assert reached(better(np.full(8, 0.3), margin=0.1)) is Verdict.confirmed
    assert reached(better(np.full(8, 0.3), margin=0.4)) is Verdict.refuted


def test_no_difference_at_all_decides_nothing_and_a_margin_refutes_it():
    evidence = better(np.zeros(8), margin=0)
    assert (float(evidence.p), float(evidence.sign_p), float(evidence.favours)) == (1, 1, 0)
    assert reached(evidence) is Verdict.undecided
    assert reached(better(np.zeros(8), margin=0.1)) is Verdict.refuted


@pytest.mark.parametrize("sign", [1, -1])
def test_within_looks_at_both_margins(sign: int):
    near = sign * np.array([0.01, -0.02, 0.015, 0.0, 0.02, -0.01, 0.005, 0.01])
    assert reached(within(near, margin=0.1)) is Verdict.confirmed
    assert reached(within(sign * CLEAR, margin=0.1)) is Verdict.refuted
    assert reached(within(sign * CLEAR, margin=0.5)) is Verdict.undecided
    assert reached(within(np.zeros(8), margin=0.1)) is Verdict.confirmed


def test_within_is_two_one_sided_tests_at_half_the_level():
    sample = CLEAR - 0.45
    above: Any = stats.ttest_1samp(sample, 0.1, alternative="less")
    below: Any = stats.ttest_1samp(sample, -0.1, alternative="greater")
    assert within(sample, margin=0.1).p == pytest.approx(2 * max(above.pvalue, below.pvalue))


def test_within_is_vetoed_at_the_margin_that_is_near():
    sample = np.array([0.04, 0.045, 0.05, 0.042, 0.048, 0.051])
    assert reached(within(sample, margin=0.09)) is Verdict.confirmed
    sample[0] = 0.0905
    evidence = within(sample, margin=0.09)
    assert evidence.sign_p == 4 / 2**6
    assert reached(evidence) is Verdict.undecided


def test_solved_counts_the_seeds_in_which_the_arms_differ():
    none, every = [False] * 8, [True] * 8
    assert solved(every, none).p == 2 / 2**8
    assert reached(solved(every, none)) is Verdict.confirmed
    assert reached(solved(none, every)) is Verdict.refuted
    assert reached(solved([True] * 5 + [False] * 3, none)) is Verdict.undecided
    assert reached(solved([True] * 6 + [False] * 2, none)) is Verdict.confirmed
    assert (solved(every, every).p, solved(none, none).p) == (1, 1)


def test_arrays_of_sweeps_give_what_single_claims_give():
    sweeps = np.random.default_rng(6).normal(0.7, 1, size=(40, 1, 8))
    for test in (better, within):
        together = decide(test(sweeps, margin=0.4))[:, 0]
        apart = [reached(test(sweep[0], margin=0.4)) for sweep in sweeps]
        assert [verdict(float(each)) for each in together] == apart
        assert len(set(apart)) > 1
