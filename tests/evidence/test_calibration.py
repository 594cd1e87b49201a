"""The rule of verdicts errs as often as it says: simulated sweeps, all by the rule of reports."""

import math

import numpy as np
import pytest

from andrea_exp.evidence.paired import t_interval
from andrea_exp.evidence.rule import better
from benchmarks.calibration import (
    CALIBRATED,
    SWEEPS,
    coverage,
    false_verdicts,
    false_verdicts_solved,
    flagged,
    normal,
    power,
    skewed,
)

PUBLISHED = {
    "normal": {1: (0.026, 0.039, 0.044), 4: (0.049, 0.047, 0.046)},
    "t, 3 df": {1: (0.020, 0.032, 0.037), 4: (0.029, 0.031, 0.031)},
    "bimodal + noise": {1: (0.010, 0.029, 0.038), 4: (0.016, 0.057, 0.036)},
}
"""An independent simulation of 20,000 sweeps a cell: claims -> rates at 6, 8 and 10 seeds."""
SOLVED = {1: (0.000, 0.004, 0.009), 4: (0.0, 0.0, 0.002)}
CELLS = [(claims, place, seeds) for claims in (1, 4) for place, seeds in enumerate((6, 8, 10))]


def agree(found: float, published: float) -> bool:
    """Within four standard errors of the difference of two simulations, and their rounding."""
    error = math.sqrt(2 * max(published, 0.001) / SWEEPS)
    return abs(found - published) < 4 * error + 0.0005


@pytest.mark.parametrize("kind", PUBLISHED)
@pytest.mark.parametrize(("claims", "place", "seeds"), CELLS)
def test_false_verdicts_are_as_rare_as_published(kind: str, claims: int, place: int, seeds: int):
    found = false_verdicts(CALIBRATED[kind], claims=claims, seeds=seeds)
    assert agree(found, PUBLISHED[kind][claims][place]), found
    assert found < 0.06


@pytest.mark.parametrize(("claims", "place", "seeds"), CELLS)
def test_solved_or_not_errs_even_less(claims: int, place: int, seeds: int):
    found = false_verdicts_solved(claims=claims, seeds=seeds)
    assert agree(found, SOLVED[claims][place]), found
    assert false_verdicts_solved(claims=claims, seeds=seeds, share=0.0) == 0


def test_a_rule_without_veto_or_correction_would_be_caught():
    """The broken twin: p at .05 for each of four claims is false in one sweep out of five."""
    data = normal(np.random.default_rng(1), (SWEEPS, 4, 8))
    uncorrected = float((better(data, margin=0).p <= 0.05).any(axis=-1).mean())
    assert not agree(uncorrected, PUBLISHED["normal"][4][1])
    assert uncorrected > 0.15


def test_power_is_as_published():
    assert power(1.0, claims=1, seeds=8) == pytest.approx(0.65, abs=0.02)
    assert power(2.0, claims=4, seeds=6) == pytest.approx(0.79, abs=0.02)


def test_t_intervals_cover_what_they_say_on_normal_differences():
    assert 0.93 < coverage(normal, seeds=8, interval=t_interval) < 0.97


def test_skewed_differences_are_flagged_more_often_than_normal_ones():
    assert flagged(skewed, seeds=8) > 2 * flagged(normal, seeds=8)
    assert false_verdicts(skewed, claims=4, seeds=8) > 0.1
