"""The panel against printed values of tables that anybody can make."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor

from andrea_exp.evaluate.controls import controls, sinusoid_rows
from andrea_exp.evaluate.panel import Panel, panel

COLUMNS = [
    "adjacent_cosine",
    "centred_adjacent_cosine",
    "d1",
    "d2",
    "d2_over_d1",
    "effective_rank",
    "k95",
    "high_frequency_energy",
]


def curve(count: int, width: int) -> Tensor:
    """Sine and cosine rows from the paper's formula, in numpy float64."""
    pair = np.arange(width) // 2
    angle = np.arange(count)[:, None] / 10_000.0 ** (2 * pair / width)
    return torch.from_numpy(np.where(np.arange(width) % 2, np.cos(angle), np.sin(angle)))


def printed(found: Panel, digits: list[int]) -> list[float]:
    return [round(getattr(found, name), n) for name, n in zip(COLUMNS, digits, strict=True)]


GOLDEN = {
    (64, 128): [0.970, 0.916, 0.244, 0.177, 0.727, 13.7, 17, 0.008],
    (256, 128): [0.970, 0.941, 0.244, 0.177, 0.727, 27.7, 35, 0.002],
}


@pytest.mark.parametrize("shape", GOLDEN)
def test_the_sinusoids_numbers_are_known(shape: tuple[int, int]):
    assert printed(panel(curve(*shape)), [3, 3, 3, 3, 3, 1, 0, 3]) == GOLDEN[shape]


def test_the_same_rows_in_another_order_have_other_numbers():
    order = torch.randperm(64, generator=torch.Generator().manual_seed(0))
    found = printed(panel(curve(64, 128)[order]), [3, 3, 3, 3, 3, 1, 0, 3])
    assert found != GOLDEN[64, 128]
    assert found[5:7] == GOLDEN[64, 128][5:7]  # rank knows no order


@pytest.mark.slow
def test_the_sinusoids_numbers_at_full_size():
    found = panel(curve(1024, 768))
    assert printed(found, [3, 3, 3, 3, 3, 0, 0, 3]) == [
        0.973,
        0.959,
        0.231,
        0.159,
        0.691,
        84,
        164,
        0,
    ]


@pytest.mark.parametrize(
    ("width", "ratio"), [(8, 0.954), (16, 0.911), (32, 0.832), (64, 0.767), (128, 0.727)]
)
def test_the_sinusoids_roughness_depends_on_its_width(width: int, ratio: float):
    assert panel(curve(64, width)).d2_over_d1 == pytest.approx(ratio, abs=0.002)


def test_cosine_by_lag_of_the_sinusoid_is_the_closed_form():
    expected = [0.96615, 0.88450, 0.79959, 0.74795, 0.73450, 0.73623, 0.72701, 0.70043]
    found = panel(curve(40, 64)).cosine_by_lag
    assert found[:8] == pytest.approx(expected, abs=5e-6)
    assert len(found) == 20


def test_lag_one_is_the_adjacent_cosine():
    found = panel(torch.randn(9, 5, generator=torch.Generator().manual_seed(1)))
    assert found.cosine_by_lag[0] == found.adjacent_cosine
    assert found.centred_cosine_by_lag[0] == found.centred_adjacent_cosine


def test_a_common_mean_moves_the_raw_measures_alone():
    rows = torch.randn(30, 11, generator=torch.Generator().manual_seed(2)).double()
    found, moved = panel(rows), panel(rows + 5)
    assert moved.adjacent_cosine is not None
    assert moved.adjacent_cosine > 0.9
    for name in ("centred_adjacent_cosine", "d1_centred", "d2_over_d1", "effective_rank"):
        assert getattr(moved, name) == pytest.approx(getattr(found, name))
    assert moved.d1 is not None
    assert found.d1 is not None
    assert moved.d1 < found.d1 / 3


def test_controls_are_drawn_from_streams_of_their_own_and_repeat():
    rows = curve(10, 6)
    assert controls(rows, seed=0) == controls(rows, seed=0)
    assert controls(rows, seed=0).iid != controls(rows, seed=1).iid
    assert controls(2 * rows, seed=0).iid == controls(rows, seed=0).iid
    assert sorted(controls(rows, seed=0).shuffled.row_norms) == pytest.approx(
        sorted(panel(rows).row_norms)
    )


def test_the_sinusoid_control_is_the_papers_at_an_even_width_and_fits_an_odd_one():
    assert torch.allclose(sinusoid_rows(9, width=6), curve(9, 6))
    assert torch.equal(sinusoid_rows(9, width=5), sinusoid_rows(9, width=6)[:, :5])


def test_equal_rows_have_no_direction_left_after_centring():
    found = panel(torch.full((7, 5), 0.1))
    assert (found.adjacent_cosine, found.d1, found.d2) == (pytest.approx(1), 0, 0)
    for name in ("centred_adjacent_cosine", "d1_centred", "d2_over_d1", "effective_rank", "k95"):
        assert getattr(found, name) is None
    assert found.high_frequency_energy is None
    assert set(found.centred_cosine_by_lag) == {None}


@pytest.mark.parametrize(
    "rows", [torch.ones(2, 5), torch.zeros(6, 5), torch.full((6, 5), float("nan"))]
)
def test_what_is_not_defined_is_none_and_never_nan(rows: Tensor):
    found = dataclasses.asdict(panel(rows))
    norms = found.pop("row_norms")
    assert len(norms) == len(rows)
    assert {type(value) for value in found.values()} <= {type(None), list}
