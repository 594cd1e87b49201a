"""The compact matrix of row cosines."""

import numpy as np
import pytest
import torch

from andrea_exp.evaluate.row_cosines import row_cosines
from tests.evaluate.test_panel import curve


def cosines_of(rows: np.ndarray) -> np.ndarray:
    about = rows - rows.mean(axis=0)
    about /= np.linalg.norm(about, axis=1, keepdims=True)
    return about @ about.T


@pytest.mark.parametrize(("count", "shown"), [(9, list(range(9))), (127, list(range(0, 127, 2)))])
def test_the_matrix_is_that_of_numpy_at_evenly_spaced_rows(count: int, shown: list[int]):
    rows = torch.randn(count, 6, generator=torch.Generator().manual_seed(0))
    found = row_cosines(rows)
    assert found.rows == shown
    for matrix, table in ((found.trained, rows.double()), (found.sinusoid, curve(count, 6))):
        expected = cosines_of(table.numpy())[np.ix_(shown, shown)]
        assert [len(row) for row in matrix] == list(range(1, len(shown) + 1))
        for index, row in enumerate(matrix):
            assert row == pytest.approx(list(expected[index, : index + 1]), abs=6e-4)
            assert row == [round(cosine or 0, 3) for cosine in row]


def test_first_and_last_row_are_shown_and_never_more_than_64():
    found = row_cosines(torch.randn(1000, 3, generator=torch.Generator().manual_seed(0)))
    assert (len(found.rows), found.rows[0], found.rows[-1]) == (64, 0, 999)
    assert len(set(np.diff(found.rows))) <= 2


def test_a_row_without_a_direction_has_no_cosine():
    assert row_cosines(torch.ones(3, 4)).trained == [[None], [None] * 2, [None] * 3]
