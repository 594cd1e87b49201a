"""How smooth the rows of a table are along the position axis; all arithmetic in float64.

Rows e_p, p = 0..n-1; centred rows c_p = e_p minus the mean row. Plain cosines mislead: a common
mean raises them (rows in random order), and so does a random walk. Centring removes the first,
`d2_over_d1` catches the second.
"""

from dataclasses import dataclass
from statistics import fmean

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from andrea_exp.evaluate.cosine import centred, mean_cosine, unit
from andrea_exp.evaluate.translation import translation_ratios

LAGS = 128
"""Most lags of the measures by lag."""


@dataclass(kw_only=True, frozen=True)
class Panel:
    """The measures of one table. None: not defined, as the cosine of a zero row."""

    adjacent_cosine: float | None
    """Mean cosine of e_p and e_(p+1)."""
    centred_adjacent_cosine: float | None
    """The same of c_p and c_(p+1)."""
    cosine_by_lag: list[float | None]
    """Entry k-1 is the mean cosine of e_p and e_(p+k), for k = 1..min(n/2, 128)."""
    centred_cosine_by_lag: list[float | None]
    """The same of centred rows."""
    d1: float | None
    """Mean norm of e_(p+1) - e_p over the mean norm of e_p."""
    d1_centred: float | None
    """The same over the mean norm of c_p."""
    d2: float | None
    """Mean norm of e_(p+2) - 2 e_(p+1) + e_p over the mean norm of e_p."""
    d2_over_d1: float | None
    """Free of scale: sqrt 3 for independent rows, sqrt 2 for a random walk, below 1 for a curve."""
    effective_rank: float | None
    """exp of the entropy of s_k^2 / sum s^2, s the singular values of the centred rows."""
    k95: int | None
    """How many of them hold 95 % of sum s^2."""
    high_frequency_energy: float | None
    """Share of the centred columns' power spectrum along p in the upper half of its bins."""
    translation_invariance: float | None
    """Mean of the next list. 0: <e_p, e_q> is a function of q - p, as for a sinusoid."""
    translation_invariance_by_lag: list[float]
    """Variance over p of <e_p, e_(p+k)> over the variance of the lags' means, for the lags k of
    `cosine_by_lag`; empty where those means do not differ."""
    row_norms: list[float]
    """Norm of each row."""


def panel(rows: Float[Tensor, "M D"]) -> Panel:
    """Measure a table, on any device and in any precision.

    Fewer than three rows have no second difference, and rows that are not finite have nothing:
    then every measure but the norms is None.
    """
    exact = rows.detach().double().cpu()
    norms = exact.norm(dim=1)
    if len(exact) < 3 or not exact.isfinite().all():
        return _undefined(norms)
    about = centred(exact)
    step = exact.diff(dim=0).norm(dim=1).mean()
    turn = exact.diff(n=2, dim=0).norm(dim=1).mean()
    lags = range(1, min(len(exact) // 2, LAGS) + 1)
    plain, relative = unit(exact), unit(about)
    energy = _energy(about)
    ratios = translation_ratios(exact, lags=lags) or []
    return Panel(
        adjacent_cosine=mean_cosine(plain, lag=1),
        centred_adjacent_cosine=mean_cosine(relative, lag=1),
        cosine_by_lag=[mean_cosine(plain, lag=lag) for lag in lags],
        centred_cosine_by_lag=[mean_cosine(relative, lag=lag) for lag in lags],
        d1=_ratio(step, norms.mean()),
        d1_centred=_ratio(step, about.norm(dim=1).mean()),
        d2=_ratio(turn, norms.mean()),
        d2_over_d1=_ratio(turn, step),
        effective_rank=_spread(energy),
        k95=None if energy is None else int((energy.cumsum(0) < 0.95).sum()) + 1,
        high_frequency_energy=_high_frequency_share(about),
        translation_invariance=fmean(ratios) if ratios else None,
        translation_invariance_by_lag=ratios,
        row_norms=norms.tolist(),
    )


def d2_over_d1(rows: Float64[Tensor, "M D"]) -> float | None:
    """`Panel.d2_over_d1` of at least three rows."""
    turn = rows.diff(n=2, dim=0).norm(dim=1).mean()
    return _ratio(turn, rows.diff(dim=0).norm(dim=1).mean())


def effective_rank(rows: Float64[Tensor, "M D"]) -> float | None:
    """`Panel.effective_rank` of finite rows."""
    return _spread(_energy(centred(rows)))


def _undefined(norms: Float64[Tensor, " M"]) -> Panel:
    return Panel(
        adjacent_cosine=None,
        centred_adjacent_cosine=None,
        cosine_by_lag=[],
        centred_cosine_by_lag=[],
        d1=None,
        d1_centred=None,
        d2=None,
        d2_over_d1=None,
        effective_rank=None,
        k95=None,
        high_frequency_energy=None,
        translation_invariance=None,
        translation_invariance_by_lag=[],
        row_norms=norms.tolist(),
    )


def _ratio(part: Float64[Tensor, ""], whole: Float64[Tensor, ""]) -> float | None:
    return float(part / whole) if whole > 0 else None


def _energy(about: Float64[Tensor, "M D"]) -> Float64[Tensor, " K"] | None:
    """Share of each singular direction, largest first."""
    squares = torch.linalg.svdvals(about).square()
    return squares / squares.sum() if squares.sum() > 0 else None


def _spread(energy: Float64[Tensor, " K"] | None) -> float | None:
    """Perplexity of the shares: exp of their entropy."""
    return None if energy is None else float(torch.special.entr(energy).sum().exp())


def _high_frequency_share(about: Float64[Tensor, "M D"]) -> float | None:
    power = torch.fft.rfft(about, dim=0).abs().square().sum(dim=1)
    return _ratio(power[len(power) // 2 :].sum(), power.sum())
