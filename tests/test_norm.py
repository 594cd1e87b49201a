"""Both norms against their formulas."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from andrea_exp.norm import Norm, NormConfig, NormKind

WIDTH = 5
Formula = Callable[[np.ndarray, float], np.ndarray]


def layer(x: np.ndarray, eps: float) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)


def rms(x: np.ndarray, eps: float) -> np.ndarray:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)


def unbiased_layer(x: np.ndarray, eps: float) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, ddof=1, keepdims=True) + eps)


def rms_without_eps(x: np.ndarray, _: float) -> np.ndarray:
    return rms(x, 0.0)


def build(kind: NormKind, *, gain: bool, bias: bool, eps: float) -> Norm:
    norm = NormConfig(kind=kind, gain=gain, bias=bias, eps=eps).build(WIDTH).double()
    norm.initialise()
    return norm


def error(norm: Norm, formula: Formula, eps: float) -> float:
    x = np.random.default_rng(0).normal(0.3, 0.1, (2, 3, WIDTH))
    expected = formula(x, eps)
    if norm.weight is not None:
        norm.weight.data = torch.arange(1.0, 1 + WIDTH).double()
        expected = expected * np.arange(1, 1 + WIDTH)
    if norm.bias is not None:
        norm.bias.data = torch.arange(-2.0, WIDTH - 2).double()
        expected = expected + np.arange(-2, WIDTH - 2)
    return float(np.abs(norm(torch.from_numpy(x)).detach().numpy() - expected).max())


@pytest.mark.parametrize("eps", [1e-5, 0.3])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("gain", [True, False])
@pytest.mark.parametrize(
    ("kind", "formula", "saboteur"),
    [(NormKind.layer, layer, unbiased_layer), (NormKind.rms, rms, layer)],
)
def test_a_norm_is_its_formula(
    *, kind: NormKind, formula: Formula, saboteur: Formula, gain: bool, bias: bool, eps: float
):
    norm = build(kind, gain=gain, bias=bias, eps=eps)
    assert error(norm, formula, eps) < 1e-12
    assert error(norm, saboteur, eps) > 1e-4


def test_eps_is_not_ignored():
    norm = build(NormKind.rms, gain=False, bias=False, eps=0.3)
    assert error(norm, rms_without_eps, 0.3) > 1e-2


@pytest.mark.parametrize(
    ("gain", "bias", "count"),
    [(False, False, 0), (True, False, 5), (False, True, 5), (True, True, 10)],
)
@pytest.mark.parametrize("kind", NormKind)
def test_only_gain_and_bias_have_parameters(*, kind: NormKind, gain: bool, bias: bool, count: int):
    norm = build(kind, gain=gain, bias=bias, eps=1e-5)
    assert sum(parameter.numel() for parameter in norm.parameters()) == count


def test_initialise_makes_the_gain_one_and_the_bias_zero():
    norm = build(NormKind.layer, gain=True, bias=True, eps=1e-5)
    for parameter in norm.parameters():
        torch.nn.init.constant_(parameter, float("nan"))
    norm.initialise()
    assert norm.weight is not None
    assert norm.bias is not None
    assert torch.equal(norm.weight, torch.ones(WIDTH).double())
    assert torch.equal(norm.bias, torch.zeros(WIDTH).double())
