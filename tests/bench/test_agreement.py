"""The rule by which a backend counts as correct."""

import math

import pytest
import torch
from torch import Tensor

from andrea_exp.bench.agreement import Deviation, deviations, shares

EPS = torch.finfo(torch.float32).eps
TRUE = torch.tensor([4.0, -1.0], dtype=torch.float64)


def deviation(
    found: Tensor, *, reference: Tensor | None = None, precision: torch.dtype = torch.float32
) -> Deviation:
    near = TRUE.float() if reference is None else reference
    (only,) = deviations(
        {"output": found}, {"output": near}, {"output": TRUE}, precision=precision, elsewhere={}
    )
    return only


def test_one_rounding_unit_of_the_scale_is_allowed_where_the_reference_is_exact():
    found = deviation(TRUE.float())
    assert (found.error, found.limit, found.share) == (0, 4 * EPS, 0)
    assert deviation((TRUE + torch.tensor([0, 4 * EPS])).float()).allowed
    assert not deviation((TRUE + torch.tensor([0, 6 * EPS])).float()).allowed


def test_twice_the_error_of_the_reference_is_allowed_beside_it():
    reference = (TRUE + torch.tensor([0.0, 0.25])).float()
    assert deviation(reference, reference=reference).limit == pytest.approx(0.5 + 4 * EPS)
    assert deviation((TRUE - 0.5).float(), reference=reference).allowed
    assert not deviation((TRUE - 0.51).float(), reference=reference).allowed


def test_the_rounding_unit_is_that_of_the_precision():
    found = deviation(TRUE.float(), precision=torch.bfloat16)
    assert found.limit == 4 * torch.finfo(torch.bfloat16).eps


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_wrong(wrong: float):
    found = deviation(torch.tensor([4.0, wrong]))
    assert not found.allowed
    assert found.share == math.inf
    assert found.finite_error is None
    assert "not finite" in str(found)


@pytest.mark.parametrize("other", [TRUE.double(), TRUE.float()[None], TRUE.float()[:1]])
def test_another_type_or_shape_is_wrong(other: Tensor):
    assert not deviation(other).allowed


def test_what_the_reference_is_off_elsewhere_counts_if_it_is_more():
    near = {"output": TRUE.float()}
    elsewhere = shares({"output": TRUE.float() + 0.5}, {"output": TRUE})
    assert elsewhere == {"output": 0.5 / 4}
    half = {"output": 2 * TRUE}
    (found,) = deviations(near, near, half, precision=torch.float32, elsewhere={"output": 0.75})
    assert found.limit == pytest.approx((2 * 0.75 + EPS) * 8)
    (found,) = deviations(near, near, half, precision=torch.float32, elsewhere=elsewhere)
    assert found.limit == pytest.approx((2 * 0.5 + EPS) * 8)


def gradient(found: float, *, true: float) -> Deviation:
    """Of a gradient whose reference is exact, beside an output that is right."""
    name = "gradient of keys"
    exact = {"output": TRUE, name: torch.full((2,), true, dtype=torch.float64)}
    near = {key: tensor.float() for key, tensor in exact.items()}
    given = {**near, name: torch.full((2,), found)}
    return deviations(given, near, exact, precision=torch.float32, elsewhere={})[1]


def test_a_gradient_that_is_zero_but_for_rounding_has_the_norm_of_the_output_as_scale():
    norm = 17**0.5
    assert gradient(4 * EPS, true=1e-17).limit == pytest.approx(norm * EPS)
    assert gradient(4 * EPS, true=1e-17).allowed
    assert not gradient(5 * EPS, true=1e-17).allowed
    assert gradient(2**-10, true=2**-10).limit == 2**-10 * EPS


def test_a_sentence_has_both_numbers():
    said = str(Deviation(result="output", error=0.5, limit=0.125))
    assert said == "output: off by 0.5, where 0.12 is allowed"
    assert Deviation(result="output", error=0.5, limit=0.0).share == math.inf
