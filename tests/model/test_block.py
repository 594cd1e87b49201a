"""A block against one written out head by head in numpy."""

import math

import numpy as np
import pytest
import torch

from andrea_exp.model.block import Block
from andrea_exp.model.config import ModelConfig
from andrea_exp.position.base import Positions
from tests import options

B, T, D, N = 2, 5, 12, 3
Weights = dict[str, np.ndarray]


def config(*, placement: str, bias: bool, causal: bool) -> ModelConfig:
    """GPT-2's block: tanh GELU, layer norm with gain, and with bias where linear maps have it."""
    return options.model(
        bias=bias,
        causal=causal,
        norm={"bias": bias, "placement": placement},
        feedforward={"activation": "gelu_tanh"},
    )


def build(chosen: ModelConfig) -> Block:
    block = Block(chosen, kernel=options.kernel().build().attention)
    generator = torch.Generator().manual_seed(0)
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter, std=0.5, generator=generator)
    return block.double()


def run(block: Block, x: np.ndarray, *, causal: bool) -> np.ndarray:
    sizes = options.model(causal=causal).sizes(used_vocab=19)
    scheme = options.position("none").build(sizes=sizes, token_scale=1.0)
    where = Positions.first(T, device=torch.device("cpu"))
    found = block(torch.from_numpy(x), position=scheme, positions=where, bias=None)
    return found.detach().numpy()


def norm(x: np.ndarray, weights: Weights, name: str) -> np.ndarray:
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    normed = (x - x.mean(axis=-1, keepdims=True)) / spread
    return normed * weights[f"{name}.weight"] + weights.get(f"{name}.bias", 0)


def linear(x: np.ndarray, weights: Weights, name: str) -> np.ndarray:
    return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0)


def attention(x: np.ndarray, weights: Weights, *, causal: bool) -> np.ndarray:
    """One batch row, head and query at a time; q, k and v are thirds of one projection."""
    mixed = np.zeros_like(x)
    qkv = linear(x, weights, "attention.project_in")
    width = D // N
    for b in range(B):
        for n in range(N):
            query, key, value = (
                qkv[b, :, part * D + n * width : part * D + (n + 1) * width] for part in range(3)
            )
            for i in range(T):
                last = i + 1 if causal else T
                scores = np.exp(key[:last] @ query[i] / math.sqrt(width))
                weighted = scores / scores.sum() @ value[:last]
                mixed[b, i, n * width : (n + 1) * width] = weighted
    return linear(mixed, weights, "attention.project_out")


def feedforward(x: np.ndarray, weights: Weights) -> np.ndarray:
    h = linear(x, weights, "feedforward.widen")
    bent = h / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))
    return linear(bent, weights, "feedforward.narrow")


def pre(x: np.ndarray, weights: Weights, *, causal: bool) -> np.ndarray:
    x = x + attention(norm(x, weights, "norm_attention"), weights, causal=causal)
    return x + feedforward(norm(x, weights, "norm_feedforward"), weights)


def post(x: np.ndarray, weights: Weights, *, causal: bool) -> np.ndarray:
    x = norm(x + attention(x, weights, causal=causal), weights, "norm_attention")
    return norm(x + feedforward(x, weights), weights, "norm_feedforward")


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_a_block_is_the_one_written_out(placement: str, bias: bool, causal: bool):
    x = np.random.default_rng(0).normal(size=(B, T, D))
    block = build(config(placement=placement, bias=bias, causal=causal))
    weights = {name: p.detach().numpy() for name, p in block.named_parameters()}
    right, wrong = (pre, post) if placement == "pre" else (post, pre)
    found = run(block, x, causal=causal)
    assert np.abs(found - right(x, weights, causal=causal)).max() < 1e-11
    assert np.abs(found - wrong(x, weights, causal=causal)).max() > 1e-2
    assert np.abs(found - right(x, weights, causal=not causal)).max() > 1e-2


def test_its_parameters_are_twelve_squares_of_the_width_and_two_gains():
    block = build(config(placement="pre", bias=False, causal=True))
    assert sum(p.numel() for p in block.parameters()) == 12 * D**2 + 2 * D
    biased = build(config(placement="pre", bias=True, causal=True))
    assert sum(p.numel() for p in biased.parameters()) == 12 * D**2 + 9 * D + 4 * D


def test_dropout_acts_in_training_alone():
    block = Block(options.model(dropout=0.5), kernel=options.kernel().build().attention)
    block.initialise(torch.Generator().manual_seed(0), std=0.3, std_out=0.3)
    x = np.random.default_rng(0).normal(size=(B, T, D)).astype(np.float32)
    assert np.array_equal(run(block.eval(), x, causal=True), run(block, x, causal=True))
    assert not np.array_equal(run(block.train(), x, causal=True), run(block, x, causal=True))
