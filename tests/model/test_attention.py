"""Where position enters attention: queries and keys turn, scores are biased, values stay."""

import math

import pytest
import torch
from torch import Tensor

from andrea_exp.model.attention import Attention
from andrea_exp.position.base import Position, Positions
from tests import options

B, T, D, N = 2, 5, 12, 3
WHERE = Positions(index=torch.tensor([0, 1, 3, 4, 6]), length=7)


def build(option: str) -> tuple[Attention, Position]:
    config = options.model()
    part = Attention(config, kernel=options.kernel().build().attention)
    part.initialise(torch.Generator().manual_seed(0), std=0.8, std_out=0.5)
    sizes = config.sizes(used_vocab=19)
    return part.double(), options.position(option).build(sizes=sizes, token_scale=1.0)


def written_out(
    part: Attention,
    scheme: Position,
    x: Tensor,
    *,
    turn_values: bool = False,
    heads_swapped: bool = False,
) -> Tensor:
    """Every product in full."""
    qkv = (x @ part.project_in.weight.T).view(B, T, 3, N, D // N)
    query, key, value = (qkv[:, :, i].transpose(1, 2) for i in range(3))
    query, key = scheme.turn(query, WHERE), scheme.turn(key, WHERE)
    value = scheme.turn(value, WHERE) if turn_values else value
    scores = query @ key.transpose(-1, -2) / math.sqrt(D // N)
    bias = scheme.bias(WHERE)
    if bias is not None:
        scores = scores + (bias.flip(0) if heads_swapped else bias).double()
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    mixed = scores.masked_fill(future, -torch.inf).softmax(-1) @ value
    return mixed.transpose(1, 2).reshape(B, T, D) @ part.project_out.weight.T


def deviation(
    option: str, *, turn_values: bool = False, heads_swapped: bool = False, moved: bool = False
) -> float:
    part, scheme = build(option)
    x = torch.randn(B, T, D, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    where = Positions.first(T, device=x.device) if moved else WHERE
    found = part(x, position=scheme, positions=where, bias=scheme.bias(where))
    expected = written_out(part, scheme, x, turn_values=turn_values, heads_swapped=heads_swapped)
    return float((found - expected).detach().abs().max())


@pytest.mark.parametrize("option", options.names("position"))
def test_attention_is_the_one_written_out(option: str):
    assert deviation(option) < 1e-12


@pytest.mark.parametrize("option", ["rope", "rope_half"])
def test_values_are_not_turned(option: str):
    assert deviation(option, turn_values=True) > 1e-2


def test_each_head_gets_its_own_bias():
    assert deviation("alibi", heads_swapped=True) > 1e-2


@pytest.mark.parametrize("option", ["rope", "alibi"])
def test_the_positions_that_are_given_count(option: str):
    assert deviation(option, moved=True) > 1e-3
