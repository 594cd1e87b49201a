"""Every backend of `embedding` against a product with one-hot rows in float64."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from andrea_exp.kernel.embedding.base import EmbeddingKernelConfig
from andrea_exp.kernel.embedding.torch import embed
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

BATCH, VOCAB, WIDTH = 2, 19, 8
every_backend = pytest.mark.parametrize("name", options.names("kernel/embedding"))
every_kind = pytest.mark.parametrize(
    ("with_rows", "multiplier"), [(True, 1.0), (True, 2.5), (False, 1.0), (False, 2.5)]
)


def backend(name: str) -> EmbeddingKernelConfig:
    return options.typed(EmbeddingKernelConfig, options.values("kernel/embedding", name))


def inputs(length: int, *, with_rows: bool, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    drawn = [noise(VOCAB, WIDTH, seed=0, dtype=dtype)]
    drawn += [noise(length, WIDTH, seed=1, dtype=dtype)] if with_rows else []
    return [tensor.requires_grad_() for tensor in drawn]


def some_ids(length: int) -> Tensor:
    return torch.arange(BATCH * length, device=DEVICE).view(BATCH, length) * 5 % (VOCAB - 2)


def apply(
    operation: Callable[..., Tensor], ids: Tensor, given: list[Tensor], *, multiplier: float
) -> Tensor:
    return operation(ids, given[0], given[1] if len(given) > 1 else None, multiplier=multiplier)


def naive(ids: Tensor, given: list[Tensor], *, multiplier: float) -> Tensor:
    vectors = multiplier * (F.one_hot(ids, VOCAB).to(given[0]) @ given[0])
    return vectors + given[1][None] if len(given) > 1 else vectors


@pytest.mark.parametrize("length", SIZES)
@every_kind
@every_backend
def test_output_and_gradients_in_float64_are_those_of_the_definition(
    *, name: str, with_rows: bool, multiplier: float, length: int
):
    skip_where_it_cannot_run(backend(name), torch.float64)
    ids, given = some_ids(length), inputs(length, with_rows=with_rows)
    found = results(apply(backend(name).build(), ids, given, multiplier=multiplier), given)
    true = results(naive(ids, given, multiplier=multiplier), given)
    assert max(errors(found, true)) < 1e-12


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("length", SIZES)
@every_kind
@every_backend
def test_no_backend_is_less_exact_than_torch(
    *, name: str, with_rows: bool, multiplier: float, length: int, dtype: torch.dtype
):
    skip_where_it_cannot_run(backend(name), dtype)
    ids, exact = some_ids(length), inputs(length, with_rows=with_rows)
    given = inputs(length, with_rows=with_rows, dtype=dtype)
    assert_as_exact_as_torch(
        results(apply(backend(name).build(), ids, given, multiplier=multiplier), given),
        results(apply(embed, ids, given, multiplier=multiplier), given),
        results(naive(ids, exact, multiplier=multiplier), exact),
        dtype=dtype,
    )


@every_backend
def test_the_sum_in_float32_is_bit_equal_to_one_addition(name: str):
    skip_where_it_cannot_run(backend(name), torch.float32)
    ids, given = some_ids(63), inputs(63, with_rows=True, dtype=torch.float32)
    found = apply(backend(name).build(), ids, given, multiplier=1.0)
    assert torch.equal(found, given[0][ids] + given[1])


SABOTEURS: dict[str, Callable[[Tensor, list[Tensor]], Tensor]] = {
    "rows scaled too": lambda ids, given: 2.5 * naive(ids, given, multiplier=1.0),
    "multiplier ignored": lambda ids, given: naive(ids, given, multiplier=1.0),
    "rows one late": lambda ids, given: naive(ids, [given[0], given[1].roll(1, 0)], multiplier=2.5),
    "ids one off": lambda ids, given: naive(ids + 1, given, multiplier=2.5),
}


@pytest.mark.parametrize("saboteur", SABOTEURS)
@every_backend
def test_a_wrong_row_or_factor_is_noticed(name: str, saboteur: str):
    skip_where_it_cannot_run(backend(name), torch.float64)
    ids, given = some_ids(5), inputs(5, with_rows=True)
    found = apply(backend(name).build(), ids, given, multiplier=2.5)
    assert errors([found], [SABOTEURS[saboteur](ids, given)])[0] > 0.1


@every_backend
def test_gradients_of_whole_numbers_are_exact(name: str):
    skip_where_it_cannot_run(backend(name), torch.float32)
    ids = torch.tensor([[1, 2, 1], [1, 0, 4]], device=DEVICE)
    given = inputs(3, with_rows=True, dtype=torch.float32)
    output = apply(backend(name).build(), ids, given, multiplier=1.0)
    table, rows = torch.autograd.grad(output.sum(), given)
    assert table[:, 0].tolist() == [1, 3, 1, 0, 1] + [0] * (VOCAB - 5)
    assert (rows == BATCH).all()


@every_kind
@every_backend
def test_gradients_are_those_of_finite_differences(
    *, name: str, with_rows: bool, multiplier: float
):
    skip_where_it_cannot_run(backend(name), torch.float64)
    operation, ids = backend(name).build(), some_ids(4)
    assert torch.autograd.gradcheck(
        lambda *given: apply(operation, ids, list(given), multiplier=multiplier),
        inputs(4, with_rows=with_rows),
    )


@every_backend
def test_inputs_may_be_strided_and_are_left_alone(name: str):
    skip_where_it_cannot_run(backend(name), torch.float32)
    operation, ids = backend(name).build(), some_ids(63)
    given = inputs(63, with_rows=True, dtype=torch.float32)
    apart = [strided(tensor.detach()).requires_grad_() for tensor in given]
    before = [tensor.detach().clone() for tensor in apart]
    plain = results(apply(operation, ids, given, multiplier=2.5), given)
    found = results(apply(operation, strided(ids), apart, multiplier=2.5), apart)
    assert max(errors(found, plain)) < 1e-5
    assert all(torch.equal(tensor, kept) for tensor, kept in zip(apart, before, strict=True))
    assert torch.equal(ids, some_ids(63))
