"""ALiBi's slopes and biases."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from andrea_exp.position.alibi import slopes
from andrea_exp.position.base import Position, Positions
from andrea_exp.shapes import Sizes
from tests import options

# The authors' published function, by number of heads.
PRINTED = {
    4: [1 / 4, 1 / 16, 1 / 64, 1 / 256],
    8: [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256],
    6: [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8],
    12: [
        1 / 2,
        1 / 4,
        1 / 8,
        1 / 16,
        1 / 32,
        1 / 64,
        1 / 128,
        1 / 256,
        0.7071067812,
        0.3535533906,
        0.1767766953,
        0.0883883476,
    ],
}
Slopes = Callable[[int], list[float]]


def reversed_slopes(num_heads: int) -> list[float]:
    return slopes(num_heads)[::-1]


def single_ratio(num_heads: int) -> list[float]:
    """What the paper's text would give where the number of heads is no power of two."""
    return [2 ** (-8 * head / num_heads) for head in range(1, num_heads + 1)]


def agrees(function: Slopes, num_heads: int) -> bool:
    return function(num_heads) == pytest.approx(PRINTED[num_heads], abs=6e-11, rel=0)


def build(num_heads: int) -> Position:
    sizes = Sizes(
        vocab=5, used_vocab=5, context=9, d_model=num_heads, num_heads=num_heads, num_layers=1
    )
    return options.position("alibi").build(sizes=sizes, token_scale=1.0)


def bias(num_heads: int, index: list[int]) -> Tensor:
    added = build(num_heads).bias(Positions(index=torch.tensor(index), length=max(index) + 1))
    assert added is not None
    return added


@pytest.mark.parametrize("num_heads", PRINTED)
def test_slopes_are_the_authors(num_heads: int):
    assert agrees(slopes, num_heads)
    assert not agrees(reversed_slopes, num_heads)


@pytest.mark.parametrize("num_heads", [6, 12])
def test_without_a_power_of_two_slopes_are_not_the_papers_text(num_heads: int):
    assert not agrees(single_ratio, num_heads)


def test_a_bias_is_minus_slope_times_distance():
    expected = [
        [[0, -0.25, -0.75], [-0.25, 0, -0.5], [-0.75, -0.5, 0]],
        [[0, -0.0625, -0.1875], [-0.0625, 0, -0.125], [-0.1875, -0.125, 0]],
    ]
    assert bias(4, [2, 3, 5])[:2].tolist() == expected
    assert bias(8, [2, 3, 5])[1:4:2].tolist() == expected


def test_a_bias_depends_on_distance_alone():
    assert torch.equal(bias(6, [0, 1, 4]), bias(6, [1000, 1001, 1004]))
    assert not torch.equal(bias(6, [0, 1, 4]), bias(6, [0, 1, 5]))
