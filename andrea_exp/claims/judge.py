"""The verdict on each claim of an experiment, from what its runs left."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from andrea_exp.claims.arm import Arm, Measured, measured
from andrea_exp.claims.config import ClaimConfig
from andrea_exp.evidence.bootstrap import mean_interval
from andrea_exp.evidence.holm import adjusted, levels
from andrea_exp.evidence.paired import skewness, t_interval
from andrea_exp.evidence.rule import (
    ALPHA,
    FEWEST_PAIRS,
    UNTESTED,
    Evidence,
    Kind,
    Verdict,
    better,
    decide,
    solved,
    verdict,
    within,
)
from andrea_exp.record.reader import RunRecord

SKEWED = 1.0
"""Magnitude of skewness from which differences are called strongly skewed (Bulmer 1979)."""
NOTHING = Measured({}, {})


@final
@dataclass(kw_only=True, frozen=True)
class Judgement:
    """One claim beside its evidence."""

    claim: ClaimConfig
    verdict: Verdict
    why: str
    """Why it is undecided; empty for another verdict."""
    first: Measured
    second: Measured
    """Of the arm it is compared with; nothing for a claim about one arm."""
    seeds: list[int]
    """Those that count, in order: both arms have them."""
    differences: list[float]
    """Paired, one per seed, oriented so that larger is better; as measured for `within`."""
    interval: tuple[float, float] | None
    """t interval of their mean, at the claim's level; None where there is none."""
    level: float
    """Coverage of that interval: 1 minus the level at which Holm's correction tests the claim."""
    bootstrap: tuple[float, float] | None
    """Descriptive, at the same coverage."""
    p: float
    """Uncorrected."""
    adjusted_p: float
    """Holm's."""
    sign_p: float | None
    """Exact sign-flip p at the margin; None for `solved`, which has no veto."""
    skewed: bool
    """Whether the differences are so skewed that the rule decides falsely too often."""

    @property
    def mean(self) -> float | None:
        """Mean difference over the seeds that count."""
        return float(np.mean(self.differences)) if self.differences else None

    @property
    def runs(self) -> list[str]:
        """Recipe hashes of the runs that the verdict rests on."""
        sides = (self.first, self.second)
        return [side.runs[seed] for seed in self.seeds for side in sides if seed in side.runs]


def judge(
    claims: Sequence[ClaimConfig], records: Sequence[RunRecord], *, seeds: Sequence[int]
) -> list[Judgement]:
    """The verdicts; all claims are one family, those that cannot be tested too.

    Args:
        claims: as they were registered.
        records: runs of the experiment, each recipe once.
        seeds: those planned; runs of other seeds do not count.
    """
    cases = [_case(claim, records, seeds=seeds) for claim in claims]
    p = np.array([case.evidence.p for case in cases])
    family = Evidence(
        p=p,
        sign_p=np.array([case.evidence.sign_p for case in cases]),
        favours=np.array([case.evidence.favours for case in cases]),
    )
    return [
        _judgement(case, decision, adjusted_p=raised, level=1 - level)
        for case, decision, raised, level in zip(
            cases,
            decide(family).tolist(),
            adjusted(p).tolist(),
            levels(p, alpha=ALPHA).tolist(),
            strict=True,
        )
    ]


@dataclass(kw_only=True, frozen=True)
class _Case:
    claim: ClaimConfig
    first: Measured
    second: Measured
    seeds: list[int]
    differences: list[float]
    evidence: Evidence
    why: str
    """What stands in the way of a test; empty if nothing does."""


def _case(claim: ClaimConfig, records: Sequence[RunRecord], *, seeds: Sequence[int]) -> _Case:
    sides = [
        NOTHING if words is None else measured(claim, Arm.of(words), records, seeds=seeds)
        for words in (claim.arm, claim.than)
    ]
    first, second = sides
    shared = [
        seed
        for seed in seeds
        if seed in first.values and (claim.than is None or seed in second.values)
    ]
    one = [first.values[seed] for seed in shared]
    other = [second.values.get(seed, 0.0) for seed in shared]
    differences = [claim.oriented(a - b) for a, b in zip(one, other, strict=True)]
    evidence, why = UNTESTED, _hindrance(first, second, shared)
    if not why and claim.kind is Kind.solved:
        wins = [[claim.solves(value) for value in side] for side in (one, other)]
        evidence = solved(*wins)
        if all(map(all, wins)) or not any(map(any, wins)):
            why = "floor: both arms solve every seed" if wins[0][0] else "floor: no seed is solved"
    elif not why:
        test = better if claim.kind is Kind.better else within
        evidence = test(differences, margin=claim.margin)
    return _Case(
        claim=claim,
        first=first,
        second=second,
        seeds=shared,
        differences=differences,
        evidence=evidence,
        why=why,
    )


def _hindrance(first: Measured, second: Measured, shared: list[int]) -> str:
    """Why a claim cannot be tested; a run that diverged is not a missing one."""
    for side in (first, second):
        if side.diverged:
            return f"diverged: {side.diverged[0]}"
    if len(shared) < FEWEST_PAIRS:
        found = "1 pair" if len(shared) == 1 else f"{len(shared)} pairs"
        reasons = [reason for side in (first, second) for reason in side.missing.values()]
        told = f"; {reasons[0]}" if reasons else ""
        return f"screen: {found}, of which a verdict takes {FEWEST_PAIRS}{told}"
    return ""


def _judgement(case: _Case, decision: float, *, adjusted_p: float, level: float) -> Judgement:
    claim, differences = case.claim, case.differences
    tested = bool(differences) and claim.kind is not Kind.solved
    reached = verdict(decision)
    why = case.why
    if reached is Verdict.undecided and not why:
        why = _open(case, vetoed=adjusted_p <= ALPHA)
    return Judgement(
        claim=claim,
        verdict=reached,
        why=why,
        first=case.first,
        second=case.second,
        seeds=case.seeds,
        differences=differences,
        interval=t_interval(differences, level=level) if tested else None,
        level=level,
        bootstrap=mean_interval(differences, level=level) if tested else None,
        p=float(case.evidence.p),
        adjusted_p=adjusted_p,
        sign_p=float(case.evidence.sign_p) if tested and not case.why else None,
        skewed=tested and _is_skewed(differences),
    )


def _open(case: _Case, *, vetoed: bool) -> str:
    if vetoed:
        return "the signs of the differences do not support it"
    if case.claim.kind is Kind.solved:
        return "too few seeds differ"
    return "the interval reaches over the margin"


def _is_skewed(differences: Sequence[float]) -> bool:
    found = float(skewness(differences))
    return math.isfinite(found) and abs(found) > SKEWED
