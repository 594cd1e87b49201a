"""Principal angles between position and token subspaces."""

import numpy as np
import pytest
import torch
from torch import Tensor

from andrea_exp.evaluate.overlap import overlap


def normal(count: int, width: int, *, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, generator=generator, dtype=torch.float64)


def expected(rows: Tensor, tokens: Tensor, k: int) -> np.ndarray:
    """Cosines from the right singular vectors, in numpy float64."""
    first, second = (
        np.linalg.svd(table - table.mean(axis=0))[2][:k] for table in (rows.numpy(), tokens.numpy())
    )
    return np.linalg.svd(first @ second.T, compute_uv=False)


@pytest.mark.parametrize(("count", "k"), [(9, 3), (40, 7)])
def test_the_cosines_are_those_of_numpy(count: int, k: int):
    rows, tokens = normal(count, 12, seed=0).cumsum(dim=0), normal(31, 12, seed=1) + 5
    found = overlap(rows, tokens, k95=k)
    assert found is not None
    assert found.k == k
    assert found.cosines == pytest.approx(list(expected(rows, tokens, k)), abs=1e-9)
    assert found.mean_squared_cosine == pytest.approx(np.mean(np.square(found.cosines)))


def test_a_shared_span_is_one_and_a_perpendicular_one_is_zero():
    plane = normal(20, 3, seed=0)
    rows = torch.cat([plane, torch.zeros(20, 5)], dim=1)
    same = torch.cat([normal(30, 3, seed=1), torch.zeros(30, 5)], dim=1)
    apart = torch.cat([torch.zeros(30, 4), normal(30, 4, seed=1)], dim=1)
    shared, other = overlap(rows, same, k95=3), overlap(rows, apart, k95=3)
    assert shared is not None
    assert other is not None
    assert shared.mean_squared_cosine == pytest.approx(1)
    assert other.mean_squared_cosine == pytest.approx(0, abs=1e-12)


def test_a_common_mean_is_no_shared_direction():
    rows = normal(20, 8, seed=0)
    tokens = normal(30, 8, seed=1)
    found, moved = (overlap(rows + shift, tokens + shift, k95=2) for shift in (0, 100))
    assert found is not None
    assert moved is not None
    assert found.cosines == pytest.approx(moved.cosines, abs=1e-8)


def test_random_spans_overlap_as_stated():
    found = [
        overlap(normal(50, 24, seed=s), normal(70, 24, seed=s + 500), k95=6) for s in range(200)
    ]
    values = [each.mean_squared_cosine for each in found if each is not None]
    assert {each.random for each in found if each is not None} == {6 / 24}
    assert np.mean(values) == pytest.approx(6 / 24, abs=4 * np.std(values) / 200**0.5)


def test_fewer_tokens_than_directions_lower_k():
    found = overlap(normal(20, 8, seed=0), normal(4, 8, seed=1), k95=6)
    assert found is not None
    assert (found.k, len(found.cosines)) == (3, 3)


def test_what_spans_nothing_has_no_overlap():
    rows, tokens = normal(20, 8, seed=0), normal(30, 8, seed=1)
    assert overlap(rows, tokens, k95=None) is None
    assert overlap(rows, tokens[:1], k95=3) is None
    assert overlap(rows, tokens * torch.nan, k95=3) is None
