"""Every backend of `attention` against softmax written out in float64."""

import itertools
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from andrea_exp.kernel.attention.base import AttentionKernelConfig
from andrea_exp.kernel.attention.torch import attend
from tests import options
from tests.kernel.contract import (
    DEVICE,
    SIZES,
    assert_as_exact_as_torch,
    errors,
    noise,
    poisoned,
    results,
    skip_where_it_cannot_run,
    strided,
)

BATCH, HEADS, WIDTH = 2, 3, 8
every_backend = pytest.mark.parametrize("name", options.names("kernel/attention"))
every_mask = pytest.mark.parametrize(
    ("biased", "causal"), [(False, False), (False, True), (True, False), (True, True)]
)
least_and_most = pytest.mark.parametrize(("biased", "causal"), [(False, False), (True, True)])
Naive = Callable[[list[Tensor], bool], Tensor]


def backend(name: str) -> AttentionKernelConfig:
    return options.typed(AttentionKernelConfig, options.values("kernel/attention", name))


def inputs(
    length: int, *, biased: bool, dtype: torch.dtype = torch.float64, width: int = WIDTH
) -> list[Tensor]:
    """Query, key and value lie in memory as a model projects them."""
    projected = noise(BATCH, length, 3, HEADS, width, seed=0, dtype=dtype)
    drawn = list(projected.permute(2, 0, 3, 1, 4))
    drawn += [noise(HEADS, length, length, seed=1, dtype=dtype)] if biased else []
    return [tensor.requires_grad_() for tensor in drawn]


def apply(operation: Callable[..., Tensor], given: list[Tensor], *, causal: bool) -> Tensor:
    bias = given[3] if len(given) > 3 else None
    return operation(*given[:3], bias=bias, causal=causal, dropout=0.0)


def naive(given: list[Tensor], causal: bool, *, shift: int = 0, sign: float = 1.0) -> Tensor:
    """One query at a time; key j is seen by query i if j <= i."""
    query, key, value = given[:3]
    rows: list[Tensor] = []
    for i in range(query.shape[2]):
        seen = min(i + 1 + shift, query.shape[2]) if causal else query.shape[2]
        scores = torch.einsum("bnh,bnjh->bnj", query[:, :, i], key[:, :, :seen])
        scores = scores / math.sqrt(query.shape[-1])
        if len(given) > 3:
            scores = scores + sign * given[3][:, i, :seen]
        weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
        rows.append(torch.einsum("bnj,bnjh->bnh", weights, value[:, :, :seen]))
    return torch.stack(rows, dim=2)


@pytest.mark.parametrize("length", SIZES)
@every_mask
@every_backend
def test_output_and_gradients_in_float64_are_those_of_the_definition(
    *, name: str, biased: bool, causal: bool, length: int
):
    skip_where_it_cannot_run(backend(name), torch.float64)
    given = inputs(length, biased=biased)
    found = results(apply(backend(name).build(), given, causal=causal), given)
    assert max(errors(found, results(naive(given, causal), given))) < 1e-11


@pytest.mark.parametrize("width", [1, 8, 20, 64])
@every_backend
def test_a_head_may_have_any_width(name: str, width: int):
    skip_where_it_cannot_run(backend(name), torch.float64, width=HEADS * width)
    given = inputs(5, biased=True, width=width)
    found = results(apply(backend(name).build(), given, causal=True), given)
    assert max(errors(found, results(naive(given, True), given))) < 1e-11


@pytest.mark.parametrize(
    ("dtype", "length"),
    [*itertools.product([torch.float32, torch.bfloat16], SIZES), (torch.float16, 111)],
)
@least_and_most
@every_backend
def test_no_backend_is_less_exact_than_torch(
    *, name: str, biased: bool, causal: bool, length: int, dtype: torch.dtype
):
    skip_where_it_cannot_run(backend(name), dtype)
    exact, given = inputs(length, biased=biased), inputs(length, biased=biased, dtype=dtype)
    assert_as_exact_as_torch(
        results(apply(backend(name).build(), given, causal=causal), given),
        results(apply(attend, given, causal=causal), given),
        results(naive(exact, causal), exact),
    )


@least_and_most
@every_backend
def test_every_number_is_written_and_comes_out_the_same_again(
    *, name: str, biased: bool, causal: bool
):
    skip_where_it_cannot_run(backend(name), torch.float32)
    operation = backend(name).build()
    given = inputs(65, biased=biased, dtype=torch.float32)
    with poisoned():
        once, again = (results(apply(operation, given, causal=causal), given) for _ in range(2))
    assert all(tensor.isfinite().all() for tensor in once)
    assert all(torch.equal(one, other) for one, other in zip(once, again, strict=True))


@every_backend
def test_gradients_are_the_same_beside_a_bias_that_has_none(name: str):
    skip_where_it_cannot_run(backend(name), torch.float64)
    operation, given = backend(name).build(), inputs(5, biased=True)
    *of_vectors, _ = results(apply(operation, given, causal=True), given)
    fixed = [*given[:3], given[3].detach()]
    alone = results(apply(operation, fixed, causal=True), given[:3])
    assert max(errors(alone, of_vectors)) < 1e-12


@every_backend
def test_a_bias_may_hide_keys(name: str):
    """A window of three keys, so that whole blocks of keys are hidden from most queries."""
    skip_where_it_cannot_run(backend(name), torch.float64)
    given = inputs(150, biased=True)[:3]
    outside = torch.ones(150, 150, dtype=torch.bool, device=DEVICE).tril(-3)
    hiding = torch.zeros(HEADS, 150, 150, dtype=torch.float64, device=DEVICE)
    hiding = hiding.masked_fill(outside, float("-inf"))
    found = results(apply(backend(name).build(), [*given, hiding], causal=True), given)
    assert max(errors(found, results(naive([*given, hiding], True), given))) < 1e-11


@every_backend
def test_scores_of_any_size_give_finite_numbers(name: str):
    skip_where_it_cannot_run(backend(name), torch.float32)
    given = inputs(5, biased=True, dtype=torch.float32)
    large = [(1e3 * tensor.detach()).requires_grad_() for tensor in given]
    found = results(apply(backend(name).build(), large, causal=True), large)
    assert all(tensor.isfinite().all() for tensor in found)


@every_backend
def test_autocast_decides_the_precision_whatever_the_inputs(name: str):
    skip_where_it_cannot_run(backend(name), torch.bfloat16)
    given = inputs(5, biased=True, dtype=torch.float32)
    with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
        half = apply(backend(name).build(), given, causal=True)
    assert half.dtype == torch.bfloat16
    gradients = torch.autograd.grad(half, given, torch.ones_like(half))
    assert {gradient.dtype for gradient in gradients} == {torch.float32}
    assert errors([half.double()], [naive(given, True).double()])[0] < 0.05


SABOTEURS: dict[str, Naive] = {
    "mask off by one": lambda given, causal: naive(given, causal, shift=1),
    "no mask": lambda given, _: naive(given, False),
    "bias subtracted": lambda given, causal: naive(given, causal, sign=-1.0),
    "bias ignored": lambda given, causal: naive(given[:3], causal),
}


@pytest.mark.parametrize("saboteur", SABOTEURS)
@every_backend
def test_a_wrong_mask_or_bias_is_noticed(name: str, saboteur: str):
    skip_where_it_cannot_run(backend(name), torch.float64)
    given = inputs(5, biased=True)
    found = apply(backend(name).build(), given, causal=True)
    assert errors([found], [SABOTEURS[saboteur](given, True)])[0] > 0.1


@every_mask
@every_backend
def test_gradients_are_those_of_finite_differences(*, name: str, biased: bool, causal: bool):
    skip_where_it_cannot_run(backend(name), torch.float64)
    operation = backend(name).build()
    small = [tensor.detach().clone().requires_grad_() for tensor in inputs(4, biased=biased)]
    # Along random directions, since Triton's interpreter takes its time for every difference.
    assert torch.autograd.gradcheck(
        lambda *given: apply(operation, list(given), causal=causal), small, fast_mode=True
    )


@every_mask
@every_backend
def test_inputs_may_be_strided_and_are_left_alone(*, name: str, biased: bool, causal: bool):
    skip_where_it_cannot_run(backend(name), torch.float32)
    operation = backend(name).build()
    given = inputs(63, biased=biased, dtype=torch.float32)
    apart = [strided(tensor.detach()).requires_grad_() for tensor in given]
    before = [tensor.detach().clone() for tensor in apart]
    plain = results(apply(operation, given, causal=causal), given)
    assert max(errors(results(apply(operation, apart, causal=causal), apart), plain)) < 1e-5
    assert all(torch.equal(tensor, kept) for tensor, kept in zip(apart, before, strict=True))


@every_backend
def test_dropout_drops_its_share_of_weights_and_keeps_the_mean(name: str):
    skip_where_it_cannot_run(backend(name), torch.float32, dropout=0.25)
    ones = torch.ones(8, HEADS, 128, WIDTH, device=DEVICE)
    torch.manual_seed(0)
    mixed = backend(name).build()(ones, ones, ones, bias=None, causal=False, dropout=0.25)
    assert abs(mixed.mean().item() - 1) < 0.01
    assert abs(mixed[..., 0].std().item() - (0.25 / 0.75 / 128) ** 0.5) < 0.005
