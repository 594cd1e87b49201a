"""Every backend of `cross_entropy` against the logarithm of a softmax in float64."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig
from andrea_exp.kernel.cross_entropy.torch import losses
from tests import options
from tests.kernel.contract import (
    DEVICE,
    SIZES,
    assert_as_exact_as_torch,
    errors,
    noise,
    results,
    skip_where_it_cannot_run,
    strided,
)

VOCAB, WIDTH = 19, 8
Pair = tuple[Tensor, Tensor]
every_backend = pytest.mark.parametrize("name", options.names("kernel/cross_entropy"))


def backend(name: str) -> CrossEntropyKernelConfig:
    return options.typed(CrossEntropyKernelConfig, options.values("kernel/cross_entropy", name))


def inputs(rows: int, *, dtype: torch.dtype = torch.float64) -> Pair:
    features = noise(rows, WIDTH, seed=0, dtype=dtype)
    return features.requires_grad_(), noise(VOCAB, WIDTH, seed=1, dtype=dtype).requires_grad_()


def targets(rows: int) -> Tensor:
    return torch.arange(rows, device=DEVICE) * 7 % VOCAB


def naive(given: Pair, wanted: Tensor) -> Tensor:
    """One target at a time."""
    features, weight = given
    scores = features @ weight.T
    chosen = [scores[row, target] for row, target in enumerate(wanted.tolist())]
    return scores.exp().sum(dim=1).log() - torch.stack(chosen)


@pytest.mark.parametrize("rows", SIZES)
@every_backend
def test_losses_and_gradients_in_float64_are_those_of_the_definition(name: str, rows: int):
    skip_where_it_cannot_run(backend(name), torch.float64)
    given, wanted = inputs(rows), targets(rows)
    found = results(backend(name).build()(*given, wanted), given)
    assert max(errors(found, results(naive(given, wanted), given))) < 1e-11


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", SIZES)
@every_backend
def test_no_backend_is_less_exact_than_torch(name: str, rows: int, dtype: torch.dtype):
    skip_where_it_cannot_run(backend(name), dtype)
    exact, given, wanted = inputs(rows), inputs(rows, dtype=dtype), targets(rows)
    operation = backend(name).build()
    assert operation(*given, wanted).dtype == torch.float32
    assert_as_exact_as_torch(
        results(operation(*given, wanted), given),
        results(losses(*given, wanted), given),
        results(naive(exact, wanted), exact),
        dtype=dtype,
    )


SABOTEURS: dict[str, Callable[[Pair, Tensor], Tensor]] = {
    "next row's target": lambda given, wanted: naive(given, wanted.roll(1)),
    "one id left out of the sum": lambda given, wanted: naive(
        (given[0], given[1][:-1]), wanted % 18
    ),
    "a mean": lambda given, wanted: naive(given, wanted).mean().expand(len(wanted)),
}


@pytest.mark.parametrize("saboteur", SABOTEURS)
@every_backend
def test_a_wrong_target_sum_or_reduction_is_noticed(name: str, saboteur: str):
    skip_where_it_cannot_run(backend(name), torch.float64)
    given, wanted = inputs(5), targets(5)
    found = backend(name).build()(*given, wanted)
    assert errors([found], [SABOTEURS[saboteur](given, wanted)])[0] > 1e-3


@every_backend
def test_gradients_are_those_of_finite_differences(name: str):
    skip_where_it_cannot_run(backend(name), torch.float64)
    operation = backend(name).build()

    def four_losses(features: Tensor, weight: Tensor) -> Tensor:
        return operation(features, weight, targets(4))

    assert torch.autograd.gradcheck(four_losses, inputs(4))


@every_backend
def test_inputs_may_be_strided_and_are_left_alone(name: str):
    skip_where_it_cannot_run(backend(name), torch.float32)
    operation, wanted = backend(name).build(), targets(63)
    given = inputs(63, dtype=torch.float32)
    apart = (
        strided(given[0].detach()).requires_grad_(),
        strided(given[1].detach()).requires_grad_(),
    )
    before = [tensor.detach().clone() for tensor in apart]
    plain = results(operation(*given, wanted), given)
    assert max(errors(results(operation(*apart, strided(wanted)), apart), plain)) < 1e-5
    assert all(torch.equal(tensor, kept) for tensor, kept in zip(apart, before, strict=True))
    assert torch.equal(wanted, targets(63))


@every_backend
def test_scores_of_any_size_give_finite_losses(name: str):
    skip_where_it_cannot_run(backend(name), torch.float32)
    features, weight = (tensor.detach() * 1e3 for tensor in inputs(5, dtype=torch.float32))
    assert backend(name).build()(features, weight, targets(5)).isfinite().all()
