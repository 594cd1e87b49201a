"""Translation invariance: variance within a lag over variance between lags."""

import numpy as np
import pytest
import torch

from andrea_exp.evaluate.controls import sinusoid_rows
from andrea_exp.evaluate.panel import panel
from andrea_exp.evaluate.translation import translation_ratios


def normal(count: int, width: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(count, width, generator=generator, dtype=torch.float64)


def test_the_ratios_are_those_of_numpy():
    rows = normal(11, 5).cumsum(dim=0)
    gram = (rows @ rows.T).numpy()
    diagonals = [np.diagonal(gram, lag) for lag in range(1, 6)]
    between = np.var([np.mean(each) for each in diagonals])
    expected = [np.var(each) / between for each in diagonals]
    assert translation_ratios(rows, lags=range(1, 6)) == pytest.approx(expected)
    found = panel(rows)
    assert found.translation_invariance_by_lag == pytest.approx(expected)
    assert found.translation_invariance == pytest.approx(np.mean(expected))


def test_a_sinusoid_is_invariant_and_its_rows_in_another_order_are_not():
    rows = sinusoid_rows(64, width=32)
    invariant, shuffled = panel(rows), panel(rows[torch.randperm(64, generator=torch.Generator())])
    assert invariant.translation_invariance == pytest.approx(0, abs=1e-20)
    assert shuffled.translation_invariance is not None
    assert shuffled.translation_invariance > 5


def test_scale_does_not_matter_and_a_ramp_of_norms_does():
    rows = sinusoid_rows(40, width=16)
    moved = normal(40, 16)
    assert panel(3 * moved).translation_invariance == pytest.approx(
        panel(moved).translation_invariance
    )
    ramp = panel(rows * torch.linspace(1, 2, 40)[:, None]).translation_invariance
    assert ramp is not None
    assert ramp > 0.1


def test_it_is_not_defined_without_two_different_lags():
    assert translation_ratios(normal(3, 4), lags=[1]) is None
    assert (
        translation_ratios(torch.full((9, 4), 0.1, dtype=torch.float64), lags=range(1, 5)) is None
    )
    found = panel(torch.full((9, 4), 0.1))
    assert (found.translation_invariance, found.translation_invariance_by_lag) == (None, [])
