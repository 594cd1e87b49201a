"""Every backend of `attention` in a model whose scheme turns, biases, or learns to bias."""

from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.kernel.attention.base import AttentionKernelConfig, AttentionOp
from andrea_exp.kernel.attention.torch import attend
from andrea_exp.kernel.backend import Use
from andrea_exp.position.base import Position, PositionConfig, Positions
from andrea_exp.position.beyond import Beyond
from andrea_exp.shapes import Sizes
from tests import options
from tests.kernel.contract import DEVICE, assert_as_exact_as_torch, skip_where_it_cannot_run


@dataclass(kw_only=True, frozen=True)
class BucketsConfig(PositionConfig):
    """A learned bias for each head and each distance below four, as T5's in a small way."""

    @override
    def build(self, *, sizes: Sizes, token_scale: float) -> "Buckets":
        return Buckets(heads=sizes.num_heads)


class Buckets(Position):
    def __init__(self, *, heads: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(4, heads))

    @override
    def rows(self, positions: Positions, beyond: Beyond | None = None) -> None:
        return None

    @override
    def turn(self, vectors: Tensor, positions: Positions) -> Tensor:
        return vectors

    @override
    def bias(self, positions: Positions) -> Tensor:
        index = positions.index
        distance = (index[:, None] - index[None, :]).clamp(0, 3)
        return self.weight[distance].permute(2, 0, 1)

    @override
    def table(self) -> None:
        return None

    @override
    def trained_length(self) -> None:
        return None

    @override
    def past_label(self) -> str:
        return "same function"

    @property
    @override
    def acts_in_attention(self) -> bool:
        return True

    @override
    def initialise(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.weight, generator=generator)


SCHEMES = {
    "alibi": options.position("alibi"),
    "rope": options.position("rope"),
    "learned bias": BucketsConfig(name="test_model"),
}


@dataclass(kw_only=True, frozen=True)
class BlindConfig(AttentionKernelConfig):
    """A saboteur: it sees no bias."""

    @override
    def reasons(self, use: Use) -> list[str]:
        return []

    @override
    def runs_as(self, use: Use) -> str:
        return self.name

    @override
    def build(self) -> AttentionOp:
        return attend_blindly


def attend_blindly(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    bias: Tensor | None,
    causal: bool,
    dropout: float,
) -> Tensor:
    assert bias is not None
    return attend(query, key, value, bias=0 * bias, causal=causal, dropout=dropout)


TORCH = options.typed(AttentionKernelConfig, options.values("kernel/attention", "torch"))


def trained(attention: AttentionKernelConfig, scheme: str, dtype: torch.dtype) -> list[Tensor]:
    """Losses of two sequences and the gradients of all parameters, in one vector."""
    skip_where_it_cannot_run(attention, dtype)
    model = options.decoder(
        options.model(d_model=18),
        position=SCHEMES[scheme],
        embedding=options.embedding("table"),
        output=options.output("tied"),
        backends=replace(options.kernel(), attention=attention),
    ).to(device=DEVICE, dtype=dtype)
    ids = torch.arange(14, device=DEVICE).view(2, 7)
    losses = model.losses(ids, ids)
    gradients = torch.autograd.grad(losses.sum(), list(model.parameters()))
    return [torch.cat([tensor.detach().flatten() for tensor in (losses, *gradients)])]


def assert_the_same_is_learned(attention: AttentionKernelConfig, scheme: str) -> None:
    assert_as_exact_as_torch(
        trained(attention, scheme, torch.float32),
        trained(TORCH, scheme, torch.float32),
        trained(TORCH, scheme, torch.float64),
    )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", options.names("kernel/attention"))
def test_a_model_learns_the_same_from_every_backend(name: str, scheme: str):
    attention = options.typed(AttentionKernelConfig, options.values("kernel/attention", name))
    assert_the_same_is_learned(attention, scheme)


@pytest.mark.parametrize("scheme", ["alibi", "learned bias"])
def test_a_backend_that_forgets_the_bias_is_noticed(scheme: str):
    with pytest.raises(AssertionError, match="off by"):
        assert_the_same_is_learned(BlindConfig(name="test_model"), scheme)
