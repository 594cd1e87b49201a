"""Every activation against its formula, feature by feature."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from andrea_exp.model.config import Activation
from andrea_exp.model.feedforward import FeedForward
from tests import options

D, F = 6, 9
Scalar = Callable[[float], float]


def gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def gelu_tanh(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def relu(x: float) -> float:
    return max(x, 0.0)


def relu_squared(x: float) -> float:
    return max(x, 0.0) ** 2


def silu(x: float) -> float:
    return x / (1 + math.exp(-x))


PLAIN = {
    Activation.gelu: gelu,
    Activation.gelu_tanh: gelu_tanh,
    Activation.relu: relu,
    Activation.relu_squared: relu_squared,
}


def build(activation: Activation, *, bias: bool) -> FeedForward:
    config = options.model(
        d_model=D, bias=bias, feedforward={"activation": activation.name, "ratio": F / D}
    )
    part = FeedForward(config)
    part.initialise(torch.Generator().manual_seed(0), std=0.8, std_out=0.5)
    for parameter in part.parameters():
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(1))
    return part.double()


def error(part: FeedForward, hidden: Callable[[np.ndarray], np.ndarray]) -> float:
    """Largest deviation from W2 hidden(W1 x + b1) + b2."""
    x = np.random.default_rng(0).normal(size=(2, 3, D))
    weights = {name: p.detach().numpy() for name, p in part.named_parameters()}
    widened = x @ weights["widen.weight"].T + weights.get("widen.bias", 0)
    expected = hidden(widened) @ weights["narrow.weight"].T + weights.get("narrow.bias", 0)
    return float(np.abs(part(torch.from_numpy(x)).detach().numpy() - expected).max())


def by_feature(scalar: Scalar) -> Callable[[np.ndarray], np.ndarray]:
    return np.vectorize(scalar)


def gated(x: np.ndarray) -> np.ndarray:
    return np.vectorize(silu)(x[..., :F]) * x[..., F:]


def gated_the_other_way(x: np.ndarray) -> np.ndarray:
    return np.vectorize(silu)(x[..., F:]) * x[..., :F]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", PLAIN)
def test_an_activation_is_its_formula_and_no_other(activation: Activation, bias: bool):
    part = build(activation, bias=bias)
    assert error(part, by_feature(PLAIN[activation])) < 1e-12
    others = [PLAIN[other] for other in PLAIN if other is not activation]
    assert all(error(part, by_feature(other)) > 1e-5 for other in [*others, silu])


@pytest.mark.parametrize("bias", [True, False])
def test_swiglu_is_the_gate_times_the_value(bias: bool):
    part = build(Activation.swiglu, bias=bias)
    assert error(part, gated) < 1e-12
    assert error(part, gated_the_other_way) > 1e-2


@pytest.mark.parametrize(
    ("activation", "bias", "count"),
    [
        (Activation.gelu, False, 2 * D * F),
        (Activation.gelu, True, 2 * D * F + F + D),
        (Activation.swiglu, False, 3 * D * F),
        (Activation.swiglu, True, 3 * D * F + 2 * F + D),
    ],
)
def test_a_gated_activation_has_three_matrices_of_the_same_width(
    *, activation: Activation, bias: bool, count: int
):
    assert sum(p.numel() for p in build(activation, bias=bias).parameters()) == count
