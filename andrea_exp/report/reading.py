"""What the numbers of a position table say, in words: does it have an order, and how smooth is it?

Two measures answer differently, and both are right. The centred neighbour cosine sees what
neighbours share, the second differences see what they do not.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from andrea_exp.report.format import fixed
from andrea_exp.report.spread import spread
from andrea_exp.report.table import Run

SIGNIFICANT = 0.05
"""Largest p at which rows count as ordered, in every seed."""
INDEPENDENT = math.sqrt(3)
"""d2/d1 of independent rows."""


def order_in_words(runs: Sequence[Run]) -> str:
    """Sentences on the trained rows of one arm; empty for runs without a permutation null."""
    parts = [run.part("smoothness") for run in runs]
    if not all(run.part("permutation", of=part) for run, part in zip(runs, parts, strict=True)):
        return ""
    ordered = all(_is_ordered(part) for part in parts)
    cosine = _of_cosine(parts, ordered=ordered)
    return f"{cosine} {_of_ratio(parts, ordered=ordered, rough=_is_rough(parts))}"


def _is_ordered(part: Mapping[str, Any]) -> bool:
    """Whether one run's rows are smoother than its shuffles, and than they began."""
    p, own = part["permutation"]["p"], part["trained"]["centred_adjacent_cosine"]
    start = part["init"]["centred_adjacent_cosine"]
    if None in (p, own, start):
        return False
    return p <= SIGNIFICANT and (own > start or not part.get("change"))


def _is_rough(parts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether d2/d1 is nearer to independent rows than to the sinusoid of the same shape."""
    own = _mean(parts, "trained", "d2_over_d1")
    curve = spread([part["controls"]["sinusoid"]["d2_over_d1"] for part in parts]).mean
    if own is None or curve is None:
        return False
    return abs(own - INDEPENDENT) < abs(own - curve)


def _of_cosine(parts: Sequence[Mapping[str, Any]], *, ordered: bool) -> str:
    own = fixed(_mean(parts, "trained", "centred_adjacent_cosine"))
    null = [part["permutation"] for part in parts]
    largest = fixed(max((each["max"] for each in null if each["max"] is not None), default=None))
    p = fixed(max((each["p"] for each in null if each["p"] is not None), default=None))
    shuffles = f"{null[0]['shuffles']} shuffles of the same rows (largest {largest}, p = {p})"
    if not any(part.get("change") for part in parts):
        return f"Fixed rows: the centred neighbour cosine is {own}, beside {shuffles}."
    start = fixed(_mean(parts, "init", "centred_adjacent_cosine"))
    went = f"The centred neighbour cosine went from {start} at init to {own}"
    if ordered:
        return f"{went}, away from {shuffles}: training gave the rows an order."
    return f"{went}, which does not stand out from {shuffles}: no order is shown."


def _of_ratio(parts: Sequence[Mapping[str, Any]], *, ordered: bool, rough: bool) -> str:
    own, start = (_mean(parts, state, "d2_over_d1") for state in ("trained", "init"))
    curve = spread([part["controls"]["sinusoid"]["d2_over_d1"] for part in parts]).mean
    beside = f"independent rows have {fixed(INDEPENDENT)}, the sinusoid {fixed(curve)}"
    told = f"d2/d1 is {fixed(own)} ({fixed(start)} at init; {beside})"
    if rough and ordered:
        return (
            f"Yet {told}: it stays near independent rows, because the noise of single rows "
            "dominates the differences of neighbours, from which their shared part drops out."
        )
    if rough:
        return f"Likewise {told}: as of independent rows."
    return f"And {told}: nearer to a curve than to independent rows."


def _mean(parts: Sequence[Mapping[str, Any]], state: str, key: str) -> float | None:
    return spread([part[state][key] for part in parts]).mean
