"""How often the rule of verdicts decides falsely, and how often it decides: simulated sweeps.

    python benchmarks/calibration.py                                # 20,000 sweeps a cell, a minute
    python benchmarks/calibration.py --write docs/calibration.md    # the committed table again

Every sweep has K claims on n paired seeds. For false verdicts the true difference of each claim is
its margin, so that confirming and refuting are both wrong; a sweep counts once, however many of its
claims are decided (the family-wise rate). Power is the share of claims that are confirmed where the
true difference exceeds the margin by an effect. All of it runs through the rule that reports use.
"""

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from andrea_exp.claims.judge import SKEWED
from andrea_exp.evidence.bootstrap import mean_interval
from andrea_exp.evidence.paired import skewness, t_interval
from andrea_exp.evidence.rule import FEWEST_PAIRS, better, decide, solved

Values = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Values]

SWEEPS = 20_000
SEEDS = (6, 8, 10)
CLAIMS = (1, 4)
EFFECTS = (0.5, 1.0, 2.0)
COVERED = 4_000
"""Samples for the coverage of intervals, of which the bootstrap is slow."""


def normal(generator: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Differences as most measures have them."""
    return generator.normal(size=shape)


def heavy(generator: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Student's t with 3 degrees of freedom."""
    return generator.standard_t(3, size=shape)


def bimodal(generator: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """The difference of two outcomes that are 0 or 1 by chance, with a little noise."""
    first, second = generator.random((2, *shape)) < 0.5
    return first.astype(float) - second + 0.02 * generator.normal(size=shape)


def two_points(generator: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Differences that are -1 or 1 with some noise, and never between."""
    return generator.choice([-1.0, 1.0], size=shape) + 0.2 * generator.normal(size=shape)


def skewed(generator: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Lognormal with sigma .5, minus its mean."""
    return np.exp(0.5 * generator.normal(size=shape)) - math.exp(0.125)


def exponential(generator: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Exponential, minus its mean."""
    return generator.exponential(size=shape) - 1


def nothing(_generator: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """No difference at all."""
    return np.zeros(shape)


CALIBRATED: dict[str, Draw] = {"normal": normal, "t, 3 df": heavy, "bimodal + noise": bimodal}
OTHERS: dict[str, Draw] = {
    "lognormal(.5) skew": skewed,
    "two points + noise": two_points,
    "no difference": nothing,
}
"""Where the rule makes no promise, or has nothing to find."""


def false_verdicts(draw: Draw, *, claims: int, seeds: int, sweeps: int = SWEEPS) -> float:
    """Share of sweeps with a verdict, where the true differences are the margins."""
    data = draw(np.random.default_rng([claims, seeds]), (sweeps, claims, seeds))
    return _any(decide(better(data, margin=0.0)))


def false_verdicts_solved(
    *, claims: int, seeds: int, share: float = 0.5, sweeps: int = SWEEPS
) -> float:
    """The same for tasks that are solved or not, by the same share of seeds in both arms."""
    generator = np.random.default_rng([claims, seeds])
    first, second = generator.random((2, sweeps, claims, seeds)) < share
    return _any(decide(solved(first, second)))


def power(effect: float, *, claims: int, seeds: int, sweeps: int = SWEEPS) -> float:
    """Share of sweeps that confirm the one true claim of a family, on normal differences."""
    data = normal(np.random.default_rng([claims, seeds]), (sweeps, claims, seeds))
    data[:, 0] += effect
    return float((decide(better(data, margin=0.0))[:, 0] > 0).mean())


def coverage(draw: Draw, *, seeds: int, interval: Callable[..., tuple[float, float]]) -> float:
    """Share of samples whose nominal 95 % interval holds the true mean, which is 0."""
    samples = draw(np.random.default_rng(seeds), (COVERED, seeds))
    ends = [interval(sample, level=0.95) for sample in samples]
    return sum(low <= 0 <= high for low, high in ends) / COVERED


def flagged(draw: Draw, *, seeds: int, sweeps: int = SWEEPS) -> float:
    """Share of samples that a report marks as strongly skewed."""
    found = skewness(draw(np.random.default_rng(seeds), (sweeps, seeds)))
    return float((np.abs(found) > SKEWED).mean())


def _any(decisions: Values) -> float:
    return float((decisions != 0).any(axis=-1).mean())


def table() -> str:
    """All figures as Markdown."""
    cells = [(claims, seeds) for claims in CLAIMS for seeds in SEEDS]
    heads = [f"K={claims}, n={seeds}" for claims, seeds in cells]
    error = math.sqrt(0.05 * 0.95 / SWEEPS)
    lines = [
        "# How the rule of verdicts is calibrated",
        "",
        f"Made by `python benchmarks/calibration.py --write docs/calibration.md`: {SWEEPS:,} "
        f"simulated sweeps a cell, K claims on n paired seeds. The standard error of .05 is "
        f"{error:.4f}. With fewer than {FEWEST_PAIRS} pairs there is no verdict.",
        "",
        "## False verdicts, family-wise: the true difference is the margin",
        "",
        *_rows("differences", heads),
    ]
    for name, draw in {**CALIBRATED, **OTHERS}.items():
        rates = [false_verdicts(draw, claims=claims, seeds=seeds) for claims, seeds in cells]
        lines.append(_row(name, rates))
    for share in (0.5, 0.9, 0.0):
        rates = [false_verdicts_solved(claims=k, seeds=n, share=share) for k, n in cells]
        lines.append(_row(f"solved by {share:g} of the seeds, sign test", rates))
    lines += [
        "",
        "The first three, and outcomes that are solved or not, are what the rule is made for. It "
        "is not calibrated for strongly skewed differences, nor for a family of several claims "
        "whose differences lie on two points: the former are flagged in reports (below), for the "
        "latter there is `kind: solved`.",
        "",
        "## Power: the one true claim of a family exceeds its margin by an effect, in units of "
        "the standard deviation of its paired differences",
        "",
        *_rows("effect", heads),
    ]
    for effect in EFFECTS:
        rates = [power(effect, claims=claims, seeds=seeds) for claims, seeds in cells]
        lines.append(_row(f"{effect:g}", rates))
    lines += [
        "",
        f"## Coverage of nominal 95 % intervals, {COVERED:,} samples each, and share flagged as "
        "strongly skewed",
        "",
        *_rows(
            "differences",
            [f"{what}, n={n}" for what in ("t", "bootstrap", "flagged") for n in SEEDS],
        ),
    ]
    for name, draw in {
        **CALIBRATED,
        "lognormal(.5) skew": skewed,
        "exponential": exponential,
    }.items():
        rates = [coverage(draw, seeds=n, interval=t_interval) for n in SEEDS]
        rates += [coverage(draw, seeds=n, interval=mean_interval) for n in SEEDS]
        rates += [flagged(draw, seeds=n) for n in SEEDS]
        lines.append(_row(name, rates))
    return "\n".join(lines) + "\n"


def _rows(first: str, heads: list[str]) -> list[str]:
    return [f"| {first} | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]


def _row(name: str, rates: list[float]) -> str:
    return f"| {name} | {' | '.join(f'{rate:.3f}' for rate in rates)} |"


def main() -> int:
    """Print the table, or write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", metavar="FILE", type=Path)
    asked = parser.parse_args()
    found = table()
    if asked.write is None:
        print(found, end="")
    else:
        asked.write.write_text(found, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
