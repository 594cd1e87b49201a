"""The reference backend of `cross_entropy`."""

import math

import torch

from andrea_exp.kernel.cross_entropy.torch import TorchConfig, losses
from tests.kernel.contract import some_use


def test_it_runs_everywhere_and_is_a_plain_function():
    backend = TorchConfig(name="torch")
    assert backend.reasons(some_use(device=torch.device("cuda"), dtype=torch.bfloat16)) == []
    assert backend.build() is losses


def test_two_targets_by_hand():
    features = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    weight = torch.tensor([[math.log(3), 1.0], [0.0, 2.0], [0.0, 3.0]])
    expected = torch.tensor([math.log(3), math.log(5 / 3)])
    torch.testing.assert_close(losses(features, weight, torch.tensor([2, 0])), expected)


def test_autocast_halves_the_product_but_not_the_loss():
    features, weight = torch.randn(4, 8), torch.randn(19, 8)
    targets = torch.arange(4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = losses(features, weight, targets)
    assert half.dtype == torch.float32
    assert 0 < (half - losses(features, weight, targets)).abs().max() < 0.1
