"""Row kernels as an operator of torch."""

import pytest
import torch

from tests.kernel.contract import DEVICE, noise
from tests.kernel.cross_entropy.subjects import HOST, operation

OPERATORS = ["chunked", "triton", "cuda", "liger"] + ([HOST] if DEVICE.type == "cpu" else [])


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_keep_the_rules_of_torch(name: str):
    operation(name, torch.float32)
    features = noise(5, 4, seed=0, dtype=torch.float32).requires_grad_()
    weight = noise(9, 4, seed=1, dtype=torch.float32).requires_grad_()
    given = (features, weight, torch.arange(5, device=DEVICE))
    registered = getattr(torch.ops.andrea_exp, f"{name}_cross_entropy")
    torch.library.opcheck(registered.default, given)
    backward = getattr(torch.ops.andrea_exp, f"{name}_cross_entropy_backward")
    detached = [tensor.detach() for tensor in given]
    torch.library.opcheck(backward.default, (*detached, torch.ones(5, device=DEVICE)))


@pytest.mark.parametrize("name", OPERATORS)
def test_a_loss_can_be_differentiated_as_often_as_asked_but_not_twice_over(name: str):
    weight = noise(9, 4, seed=1, dtype=torch.float32).requires_grad_()
    features = noise(5, 4, seed=0, dtype=torch.float32)
    loss = operation(name, torch.float32)(features, weight, torch.arange(5, device=DEVICE)).sum()
    (first,) = torch.autograd.grad(loss, weight, retain_graph=True)
    (second,) = torch.autograd.grad(loss, weight, create_graph=True)
    assert torch.equal(first, second)
    with pytest.raises(RuntimeError, match="no autograd formula"):
        torch.autograd.grad(second.sum(), weight)
