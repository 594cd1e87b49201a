"""The reference backend of `attention`."""

import torch

from andrea_exp.kernel.attention.torch import TorchConfig, attend
from tests.kernel.contract import some_use


def test_it_runs_everywhere_and_is_a_plain_function():
    backend = TorchConfig(name="torch")
    assert backend.reasons(some_use(device=torch.device("cuda"), dtype=torch.bfloat16)) == []
    assert backend.build() is attend


def test_two_tokens_by_hand():
    query = torch.tensor([[[[1.0], [2.0]]]])
    value = torch.tensor([[[[3.0], [5.0]]]])
    bias = torch.tensor([[[0.0, 9.0], [4.0, 2.0]]])
    mixed = attend(query, query, value, bias=bias, causal=True, dropout=0.0)
    # Scores of the second query: 2 * 1 + 4 and 2 * 2 + 2, so equal weights.
    assert mixed.flatten().tolist() == [3.0, 4.0]
