"""Places of a batch, grouped by id."""

import pytest
import torch

from andrea_exp.kernel.embedding.occurrences import occurrences


def test_places_stand_by_id_and_in_order():
    order, starts = occurrences(torch.tensor([2, 0, 2, 3, 2, 0]), vocab=5)
    assert order.tolist() == [1, 5, 0, 2, 4, 3]
    assert starts.tolist() == [0, 2, 2, 5, 6, 6]


@pytest.mark.parametrize("vocab", [2**15 - 1, 2**15, 2**15 + 2, 70_000])
def test_ids_that_do_not_fit_a_narrow_number_are_not_cut(vocab: int):
    ids = torch.tensor([vocab - 1, 0, vocab // 2, vocab - 1])
    order, starts = occurrences(ids, vocab=vocab)
    assert order.tolist() == [1, 2, 0, 3]
    assert len(starts) == vocab + 1
    for row, count in ((0, 1), (vocab // 2, 1), (vocab - 1, 2), (1, 0)):
        assert starts[row + 1] - starts[row] == count
