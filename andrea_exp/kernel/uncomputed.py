"""Operations of a model without memory, which is counted and computes nothing.

So the parts of a model can be counted where a backend cannot run or is not installed.
"""
# ruff: noqa: ARG001 - the arguments are those of the operations

from typing import NoReturn

from jaxtyping import Float, Int64
from torch import Tensor

from andrea_exp.kernel.base import Kernels
from andrea_exp.kernel.embedding.sinusoid import Sinusoid


def uncomputed() -> Kernels:
    """One operation of each kind; a call is a TypeError."""
    return Kernels(embedding=_embed, attention=_attend, cross_entropy=_losses)


def _embed(
    ids: Int64[Tensor, "B T"],
    table: Float[Tensor, "V E"],
    rows: Float[Tensor, "T E"] | Sinusoid | None,
    *,
    multiplier: float,
) -> Float[Tensor, "B T E"]:
    _refuse()


def _attend(
    query: Float[Tensor, "B N T H"],
    key: Float[Tensor, "B N T H"],
    value: Float[Tensor, "B N T H"],
    *,
    bias: Float[Tensor, "N T T"] | None,
    causal: bool,
    dropout: float,
) -> Float[Tensor, "B N T H"]:
    _refuse()


def _losses(
    features: Float[Tensor, "R E"], weight: Float[Tensor, "V E"], targets: Int64[Tensor, " R"]
) -> Float[Tensor, " R"]:
    _refuse()


def _refuse() -> NoReturn:
    raise TypeError("this model has no memory and can only be counted; build it with allocate=True")
