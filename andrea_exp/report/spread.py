"""Numbers over seeds: the seed is the unit, and runs are paired by it."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from markupsafe import Markup

from andrea_exp.report.format import fixed, signed
from andrea_exp.report.markup import with_note

ENOUGH_SEEDS = 6
"""Fewest pairs with which a sign-flip test can reach p <= .05; below, a comparison is a screen."""


class Spread(NamedTuple):
    """Mean and standard deviation of what was measured."""

    mean: float | None
    deviation: float | None
    """None with fewer than two values."""
    num_values: int


class Difference(NamedTuple):
    """A paired difference with its interval."""

    mean: float
    low: float | None
    """Lower end of the 95 % t interval over the pairs; None with fewer than two."""
    high: float | None
    pairs: int


def spread(values: Sequence[float | None]) -> Spread:
    """Summary of the finite values among these."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return Spread(None, None, 0)
    return Spread(fmean(known), stdev(known) if len(known) > 1 else None, len(known))


def written(values: Sequence[float | None], *, difference: bool = False) -> str | Markup:
    """The mean, and behind it the standard deviation over seeds where there are several."""
    found = spread(values)
    number = signed(found.mean) if difference else fixed(found.mean)
    return with_note(number, "" if found.deviation is None else f"±{fixed(found.deviation)}")


def paired(differences: Sequence[float]) -> Difference:
    """Mean of paired differences with its 95 % t interval (n - 1 degrees of freedom)."""
    # A fifth of a second, for sweeps alone; scipy has no types of its own.
    from scipy.special import stdtrit  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    count, mean = len(differences), fmean(differences)
    if count < 2:
        return Difference(mean, None, None, count)
    half = float(stdtrit(count - 1, 0.975)) * stdev(differences) / math.sqrt(count)
    return Difference(mean, mean - half, mean + half, count)
