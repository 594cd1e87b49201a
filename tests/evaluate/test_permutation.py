"""The null of shuffled rows: exact where every order can be listed, and deterministic."""

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from andrea_exp.evaluate.controls import sinusoid_rows
from andrea_exp.evaluate.panel import panel
from andrea_exp.evaluate.permutation import permutation


def smoothness_of(rows: np.ndarray) -> float:
    """Centred neighbour cosine, in numpy float64."""
    about = rows - rows.mean(axis=0)
    about /= np.linalg.norm(about, axis=1, keepdims=True)
    return float((about[:-1] * about[1:]).sum(axis=1).mean())


def draws(count: int, width: int, *, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, generator=generator, dtype=torch.float64)


def test_mean_largest_and_p_are_those_of_all_orders():
    rows = draws(5, 6).cumsum(dim=0)
    own = smoothness_of(rows.numpy())
    orders = [smoothness_of(rows.numpy()[list(o)]) for o in itertools.permutations(range(5))]
    found = permutation(rows, shuffles=4000, seed=0)
    assert found.max == pytest.approx(max(orders), abs=1e-12)
    share = float(np.mean([order >= own - 1e-12 for order in orders]))
    assert 0 < share < 1
    # Four standard errors of a share and of a mean of 4000 draws.
    assert found.p == pytest.approx(share, abs=4 * (share * (1 - share) / 4000) ** 0.5 + 1 / 4000)
    assert found.mean == pytest.approx(np.mean(orders), abs=4 * np.std(orders) / 4000**0.5)


def test_rows_in_order_reach_the_least_p_and_the_same_rows_shuffled_do_not():
    rows = sinusoid_rows(64, width=32)
    found = permutation(rows, shuffles=200, seed=3)
    own = panel(rows).centred_adjacent_cosine
    assert own is not None
    assert found.max is not None
    assert own > found.max
    assert found.p == 1 / 201
    shuffled = permutation(
        rows[torch.randperm(64, generator=torch.Generator())], shuffles=200, seed=3
    )
    assert shuffled.p is not None
    assert shuffled.p > 0.01


def test_p_of_independent_rows_is_uniform():
    found = [permutation(draws(16, 8, seed=s), shuffles=200, seed=s).p for s in range(60)]
    values = sorted(p for p in found if p is not None)
    # Kolmogorov's bound on the distance from the uniform law at 1 in 1000 for 60 values.
    distance = max(abs(value - (rank + 0.5) / 60) for rank, value in enumerate(values))
    assert distance < 1.95 / 60**0.5


def test_a_reversal_counts_as_equally_smooth():
    # Of the 6 orders of 3 rows on a line, own and reversed are the smoothest: p is about 1/3.
    rows = torch.tensor([[0.0, 0.0], [1.0, 0.2], [3.0, 0.1]])
    found = permutation(rows, shuffles=600, seed=0)
    assert found.p == pytest.approx(1 / 3, abs=0.08)


def test_it_repeats_by_seed_and_has_a_stream_of_its_own():
    rows = draws(12, 5)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    assert permutation(rows, shuffles=200, seed=1) == permutation(rows, shuffles=200, seed=1)
    assert permutation(rows, shuffles=200, seed=1) != permutation(rows, shuffles=200, seed=2)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    "rows", [torch.ones(7, 4), torch.ones(2, 4), torch.full((6, 4), torch.nan)]
)
def test_rows_without_a_direction_have_no_null(rows: Tensor):
    found = permutation(rows, shuffles=200, seed=0)
    assert (found.mean, found.max, found.p) == (None, None, None)
