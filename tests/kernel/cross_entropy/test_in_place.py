"""One tensor of logits, which becomes their gradient."""

import pytest
import torch
from torch import Tensor

from andrea_exp.kernel.cross_entropy.in_place import InPlaceConfig
from andrea_exp.kernel.cross_entropy.torch import losses
from tests.kernel.contract import DEVICE, errors, noise, results

Pair = tuple[Tensor, Tensor]
TARGETS = torch.arange(5, device=DEVICE)


def pair() -> Pair:
    return (
        noise(5, 4, seed=0, dtype=torch.float32).requires_grad_(),
        noise(9, 4, seed=1, dtype=torch.float32).requires_grad_(),
    )


@pytest.mark.parametrize("rows", [1, 2, 5, 100])
def test_the_number_of_tokens_at_a_time_is_not_seen_in_the_results(rows: int):
    given, operation = pair(), InPlaceConfig(name="in_place", rows=rows).build()
    plain = results(losses(*given, TARGETS), given)
    assert max(errors(results(operation(*given, TARGETS), given), plain)) < 1e-6


def test_one_tensor_of_logits_is_kept_and_it_is_the_gradient():
    kept: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    given, operation = pair(), InPlaceConfig(name="in_place", rows=None).build()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        nats = operation(*given, TARGETS)
    (logits,) = (tensor for tensor in kept if tensor.shape == (5, 9))
    shares = (given[0] @ given[1].T).softmax(dim=1)
    shares[TARGETS, TARGETS] -= 1
    nats.sum().backward()
    torch.testing.assert_close(logits, shares)


def test_a_second_backward_pass_is_refused_with_the_way_out():
    nats = InPlaceConfig(name="in_place", rows=None).build()(*pair(), TARGETS)
    nats.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="kernel/cross_entropy=chunked"):
        nats.sum().backward()


def test_a_second_derivative_is_refused_with_the_way_out():
    given = pair()
    nats = InPlaceConfig(name="in_place", rows=None).build()(*given, TARGETS)
    with pytest.raises(RuntimeError, match="kernel/cross_entropy=torch has one"):
        torch.autograd.grad(nats.sum(), given, create_graph=True)


def test_its_operators_keep_the_rules_of_torch():
    InPlaceConfig(name="in_place", rows=None).build()
    logits, targets = noise(5, 9, seed=0, dtype=torch.float32), torch.arange(5, device=DEVICE)
    space = torch.ops.andrea_exp
    changing = (logits, targets, torch.ones(5, device=DEVICE))
    torch.library.opcheck(space.in_place_cross_entropy.default, (logits, targets), {"rows": 2})
    torch.library.opcheck(space.in_place_cross_entropy_gradient_.default, changing, {"rows": 2})
