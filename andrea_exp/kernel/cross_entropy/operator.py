"""Row kernels as an operator that torch can differentiate, compile and cast."""

from typing import Any, Final, Protocol

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from andrea_exp.kernel.cross_entropy import chunks
from andrea_exp.kernel.cross_entropy.base import CrossEntropyOp

_GIVEN: Final = "Tensor features, Tensor weight, Tensor targets, *, int? rows"


class Operator(Protocol):
    """`cross_entropy` without a cast, with the choice of C."""

    def __call__(
        self, features: Tensor, weight: Tensor, targets: Tensor, *, rows: int | None
    ) -> Tensor:
        """Loss of each target."""
        ...


def chunked_operator(name: str, kernels: chunks.RowKernels) -> Operator:
    """Register `andrea_exp::<name>_cross_entropy` and its backward pass, once in a process.

    It can be differentiated once, as often as asked.

    Args:
        name: of the backend.
        kernels: what computes the rows of logits.
    """

    @torch.library.custom_op(
        f"andrea_exp::{name}_cross_entropy", mutates_args=(), schema=f"({_GIVEN}) -> Tensor"
    )
    def forward(features: Tensor, weight: Tensor, targets: Tensor, *, rows: int | None) -> Tensor:
        return chunks.losses(features, weight, targets, kernels=kernels, rows=rows)

    @torch.library.custom_op(
        f"andrea_exp::{name}_cross_entropy_backward",
        mutates_args=(),
        schema=f"(Tensor upstream, {_GIVEN}) -> (Tensor, Tensor)",
    )
    def backward(upstream: Tensor, *given: Tensor, rows: int | None) -> tuple[Tensor, Tensor]:
        return chunks.gradients(*given, upstream=upstream, kernels=kernels, rows=rows)

    @forward.register_fake
    def _(features: Tensor, *_: Tensor, rows: int | None) -> Tensor:  # noqa: ARG001 - not of shape
        return features.new_empty(len(features), dtype=chunks.exact(features.dtype))

    @backward.register_fake
    def _(
        upstream: Tensor,  # noqa: ARG001 - nor this
        *given: Tensor,
        rows: int | None,  # noqa: ARG001
    ) -> tuple[Tensor, Tensor]:
        features, weight, _ = given
        return features.new_empty(features.shape), weight.new_empty(weight.shape)

    def save(ctx: Any, *, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:  # noqa: ARG001
        ctx.save_for_backward(*inputs)
        ctx.rows = keyword_only_inputs["rows"]

    def differentiate(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        return *backward(upstream, *ctx.saved_tensors, rows=ctx.rows), None

    forward.register_autograd(differentiate, setup_context=save)
    return forward


def in_chunks(operator: Operator, rows: int | None) -> CrossEntropyOp:
    """The operation `cross_entropy` by such an operator.

    Args:
        operator: what `chunked_operator` returned.
        rows: C, tokens at a time; None leaves it to `chunk_rows`.
    """

    def losses(
        features: Float[Tensor, "R E"],
        weight: Float[Tensor, "V E"],
        targets: Int64[Tensor, " R"],
    ) -> Float[Tensor, " R"]:
        return operator(*cast_as_linear(features, weight), targets, rows=rows)

    return losses


def cast_as_linear(features: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the precision that autocast asks of a matrix product; float64 stays float64."""
    device = features.device.type
    if not torch.amp.is_autocast_available(device) or not torch.is_autocast_enabled(device):
        return features, weight
    dtype = torch.get_autocast_dtype(device)
    kept = torch.float64
    return (
        features if features.dtype == kept else features.to(dtype),
        weight if weight.dtype == kept else weight.to(dtype),
    )
