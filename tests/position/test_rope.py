"""Rotary positions against the paper's rotation, written with complex numbers."""

import cmath
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from andrea_exp.position.base import Position, Positions
from andrea_exp.shapes import Sizes
from tests import options

# x = (1, 2, 3, 4), frequencies 1 and 0.01, to ten decimals.
PRINTED = {
    ("rope", 1): [-1.1426396637, 1.9220755965, 2.9598506679, 4.0297995017],
    ("rope", 3): [-1.2722325127, -1.8388649851, 2.8786681004, 4.0881866356],
    ("rope_half", 1): [-1.9841106486, 1.9599006675, 2.4623779024, 4.0197996683],
    ("rope_half", 3): [-1.4133525208, 1.8791180667, -2.8288574817, 4.0581911354],
}
X = [1.0, 2.0, 3.0, 4.0]
Formula = Callable[[list[float], int, float], list[float]]


def rotate(x: list[float], position: int, theta: float) -> list[float]:
    """Features (2i, 2i+1) as one complex number times e^(i p theta^(-2i/H))."""
    turned: list[float] = []
    for i in range(0, len(x), 2):
        z = complex(x[i], x[i + 1]) * cmath.exp(1j * position * theta ** (-i / len(x)))
        turned += [z.real, z.imag]
    return turned


def rotate_halves(x: list[float], position: int, theta: float) -> list[float]:
    half = len(x) // 2
    pairs = [x[i // 2 + (i % 2) * half] for i in range(len(x))]
    turned = rotate(pairs, position, theta)
    return turned[::2] + turned[1::2]


def backwards(x: list[float], position: int, theta: float) -> list[float]:
    return rotate(x, -position, theta)


def theta_ignored(x: list[float], position: int, _: float) -> list[float]:
    return rotate(x, position, 1e4 + 1)


def build(option: str, *, theta: float = 10000.0, width: int = 4) -> Position:
    sizes = Sizes(vocab=5, used_vocab=5, context=9, d_model=width, num_heads=1, num_layers=1)
    return options.position(option, theta=theta).build(sizes=sizes, token_scale=1.0)


def turn(scheme: Position, x: list[float] | Tensor, position: int) -> Tensor:
    vectors = torch.as_tensor(x, dtype=torch.float64).view(1, 1, 1, -1)
    return scheme.turn(vectors, Positions(index=torch.tensor([position]), length=position + 1))[
        0, 0, 0
    ]


def error(option: str, formula: Formula, theta: float) -> float:
    x = [1.0, -2.0, 3.0, 0.5, -0.25, 2.5]
    scheme = build(option, theta=theta, width=6)
    return max(
        float(np.abs(turn(scheme, x, p).numpy() - formula(x, p, theta)).max())
        for p in (0, 1, 3, 100, 5000)
    )


@pytest.mark.parametrize(("option", "position"), PRINTED)
def test_turned_vectors_are_the_printed_ones(option: str, position: int):
    turned = turn(build(option), X, position).numpy()
    assert np.abs(turned - PRINTED[option, position]).max() < 6e-11


@pytest.mark.parametrize("theta", [10000.0, 500.0])
@pytest.mark.parametrize(("option", "formula"), [("rope", rotate), ("rope_half", rotate_halves)])
def test_turning_is_the_papers_rotation(option: str, formula: Formula, theta: float):
    assert error(option, formula, theta) < 1e-11


@pytest.mark.parametrize("theta", [10000.0, 500.0])
@pytest.mark.parametrize("saboteur", [rotate_halves, backwards, theta_ignored])
def test_no_variant_of_the_rotation_fits(saboteur: Formula, theta: float):
    assert error("rope", saboteur, theta) > 1e-3


@pytest.mark.parametrize(
    ("option", "ahead", "behind"),
    [("rope", 7.9821315886, 8.9815463737), ("rope_half", -7.2289615067, -7.6400410166)],
)
def test_a_score_depends_only_on_the_difference_of_positions(
    option: str, ahead: float, behind: float
):
    scheme = build(option)

    def score(query_at: int, key_at: int) -> float:
        query = turn(scheme, X, query_at)
        return float(query @ turn(scheme, [0.5, -1.0, 2.0, 0.25], key_at))

    assert abs(score(0, 0) - 5.5) < 1e-12
    for base in (0, 2, 100):
        assert abs(score(base + 3, base) - ahead) < 6e-11
        assert abs(score(base, base + 3) - behind) < 6e-11


@pytest.mark.parametrize("option", ["rope", "rope_half"])
def test_turning_keeps_norms(option: str):
    x = torch.randn(6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    turned = turn(build(option, width=6), x, 777)
    assert abs(float(turned.norm() - x.norm())) < 1e-12
    assert float((turned - x).norm()) > 0.1


def test_the_two_pairings_differ_by_a_permutation_of_features():
    order = [0, 2, 1, 3]
    permuted = [X[i] for i in order]
    half = turn(build("rope_half"), permuted, 3)
    torch.testing.assert_close(half[order], turn(build("rope"), X, 3), rtol=0, atol=1e-12)
    assert not torch.allclose(half, turn(build("rope"), X, 3))


def test_bfloat16_vectors_are_turned_by_exact_angles():
    scheme = build("rope", width=6)
    where = Positions(index=torch.tensor([1001]), length=1002)
    x = torch.randn(1, 1, 1, 6, generator=torch.Generator().manual_seed(0)).bfloat16()
    assert torch.equal(scheme.turn(x, where), scheme.turn(x.float(), where).bfloat16())
    nearest_in_bfloat16 = Positions(index=torch.tensor([1000]), length=1002)
    assert not torch.equal(scheme.turn(x, where), scheme.turn(x, nearest_in_bfloat16))


def test_an_odd_head_width_is_refused_with_the_numbers_that_give_it():
    sizes = Sizes(vocab=5, used_vocab=5, context=9, d_model=15, num_heads=3, num_layers=1)
    with pytest.raises(ValueError, match=r"got 5 = model\.d_model=15 / model\.num_heads=3"):
        options.position("rope").build(sizes=sizes, token_scale=1.0)


def test_theta_must_exceed_one():
    with pytest.raises(ValueError, match=r"theta must be above 1, got 1\.0"):
        build("rope", theta=1.0)
