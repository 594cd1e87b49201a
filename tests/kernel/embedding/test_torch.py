"""The reference backend of `embedding`."""

import pytest
import torch

from andrea_exp.kernel.embedding.torch import TorchConfig, embed
from tests.kernel.contract import some_use


def test_it_runs_everywhere_and_is_a_plain_function():
    backend = TorchConfig(name="torch")
    assert backend.reasons(some_use(device=torch.device("cuda"), dtype=torch.bfloat16)) == []
    assert backend.build() is embed


def test_two_ids_by_hand():
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    rows = torch.tensor([[10.0, 20.0], [30.0, 40.0]])
    vectors = embed(torch.tensor([[2, 0]]), table, rows, multiplier=2.0)
    assert vectors.tolist() == [[[20.0, 32.0], [32.0, 44.0]]]


@pytest.mark.parametrize("wrong", [-1, 3])
def test_an_id_outside_the_table_is_refused_with_the_range(wrong: int):
    with pytest.raises(ValueError, match=rf"token id {wrong} is outside 0\.\.2"):
        embed(torch.tensor([[0, wrong]]), torch.zeros(3, 2), None, multiplier=1.0)


def test_no_tokens_give_no_vectors():
    ids = torch.zeros(2, 0, dtype=torch.int64)
    assert embed(ids, torch.zeros(3, 2), None, multiplier=1.0).shape == (2, 0, 2)
