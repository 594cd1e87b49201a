"""The rule of verdicts: what paired differences over seeds say of a claim made before the runs.

1. A claim has one p, by Student's t on the differences minus the margin. The claims of an
   experiment are one family: Holm's correction at .05, with p = 1 for a claim that could not be
   tested.
2. Beside it stands a veto: the claim's own exact sign-flip p must be at most .05, uncorrected. Its
   bound holds whatever the distribution; t alone is fooled by few seeds of a skewed one.
3. A claim that passes both is confirmed or refuted by the side of its margin on which the mean
   lies; any other is undecided.

Sign-flip p under Holm alone could not decide two claims with six seeds, whose smallest p is .031.
What the rule gets wrong, and how often it decides, is simulated in `benchmarks/calibration.py`.
"""

from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from andrea_exp.evidence.holm import adjusted
from andrea_exp.evidence.paired import degenerate, sign_flip, t_test

ALPHA = 0.05
"""Family-wise level of false verdicts, and level of the veto."""
FEWEST_PAIRS = 6
"""Fewest pairs with which the veto can pass; below, a comparison is a screen."""


class Kind(Enum):
    """What a claim says of a difference."""

    better = "better"
    """It exceeds the margin."""
    within = "within"
    """It lies between minus the margin and the margin."""
    solved = "solved"
    """More seeds of one arm than of the other solve the task."""


class Verdict(Enum):
    """What became of a claim."""

    confirmed = "confirmed"
    refuted = "refuted"
    undecided = "undecided"


class Evidence(NamedTuple):
    """For or against claims; one entry per claim, simulated or real."""

    p: NDArray[np.float64]
    """What Holm's correction starts from."""
    sign_p: NDArray[np.float64]
    """Exact sign-flip p at the margin in question, which may veto; 0 where there is no veto."""
    favours: NDArray[np.float64]
    """1 where the claim would be confirmed, -1 where refuted, 0 for neither."""


UNTESTED = Evidence(np.array(1.0), np.array(1.0), np.array(0.0))
"""Of a claim whose runs are missing, refused or diverged: it keeps its place in the family."""


def better(differences: ArrayLike, *, margin: float) -> Evidence:
    """Evidence that the mean exceeds the margin; seeds along the last axis.

    Args:
        differences: oriented so that larger is better.
        margin: by how much, 0 or more. At 0 a null effect can never be refuted.
    """
    excess = np.asarray(differences, dtype=float) - margin
    return Evidence(
        p=_two_sided(excess),
        sign_p=sign_flip(excess),
        favours=np.sign(excess.mean(axis=-1)),
    )


def within(differences: ArrayLike, *, margin: float) -> Evidence:
    """Evidence that the mean lies between both margins: two one-sided tests (equivalence).

    Args:
        differences: of pairs; seeds along the last axis.
        margin: above 0.
    """
    values = np.asarray(differences, dtype=float)
    shifted = np.stack([values - margin, -values - margin])
    one_sided = _one_sided(shifted)
    confirm = 2 * one_sided.max(axis=0)
    refute = 2 * (1 - one_sided).min(axis=0)
    # Inside, the nearer margin is the one in question, and outside it is the one that is passed.
    nearer = one_sided.argmax(axis=0)
    signs = np.take_along_axis(sign_flip(shifted), nearer[None], axis=0)[0]
    return Evidence(
        p=np.minimum(np.minimum(confirm, refute), 1.0),
        sign_p=signs,
        favours=np.sign(refute - confirm),
    )


def solved(first: ArrayLike, second: ArrayLike) -> Evidence:
    """Evidence that more seeds of the first arm solve a task: the exact sign test.

    Seeds in which both arms solve it, or neither, do not count. There is no further veto.

    Args:
        first: whether each seed solved it; seeds along the last axis.
        second: the same of the other arm.
    """
    # scipy.special has no types of its own.
    from scipy.special import bdtr  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    won, lost = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    wins = (won & ~lost).sum(axis=-1)
    losses = (~won & lost).sum(axis=-1)
    p = 2 * bdtr(np.minimum(wins, losses).astype(float), wins + losses, 0.5)
    return Evidence(
        p=np.minimum(p, 1.0),
        sign_p=np.zeros_like(p),
        favours=np.sign(wins - losses).astype(float),
    )


def decide(evidence: Evidence) -> NDArray[np.float64]:
    """1 confirmed, -1 refuted, 0 undecided; the claims of a family along the last axis."""
    passed = (adjusted(evidence.p) <= ALPHA) & (evidence.sign_p <= ALPHA)
    return np.where(passed, evidence.favours, 0.0)


def verdict(decision: float) -> Verdict:
    """The word for a decision."""
    return {1.0: Verdict.confirmed, -1.0: Verdict.refuted}.get(decision, Verdict.undecided)


def _two_sided(excess: NDArray[np.float64]) -> NDArray[np.float64]:
    """By t; for differences without any spread by signs, and 1 if all are 0."""
    return np.where(
        degenerate(excess),
        np.where((excess == 0).all(axis=-1), 1.0, sign_flip(excess)),
        t_test(excess),
    )


def _one_sided(excess: NDArray[np.float64]) -> NDArray[np.float64]:
    """One-sided p against a mean of 0 or more."""
    both = _two_sided(excess)
    return np.where(excess.mean(axis=-1) < 0, both / 2, 1 - both / 2)
