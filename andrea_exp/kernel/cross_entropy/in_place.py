"""`cross_entropy` with one (R, V) tensor: logits that become their own gradient."""

import functools
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor
from torch.library import custom_op
from typing_extensions import override

from andrea_exp.component import at_least
from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig, CrossEntropyOp
from andrea_exp.kernel.cross_entropy.chunks import chunk_rows
from andrea_exp.kernel.cross_entropy.targets import check_range
from andrea_exp.kernel.cross_entropy.torch_rows import ROWS
from andrea_exp.kernel.precision import exact

_NAME: Final = "andrea_exp::in_place_cross_entropy"
_SPENT: Final = (
    "kernel/cross_entropy=in_place keeps one tensor of logits, and a backward pass turns it into "
    "their gradient; where a second one is asked of the same loss, use kernel/cross_entropy=chunked"
)


@final
@dataclass(kw_only=True, frozen=True)
class InPlaceConfig(CrossEntropyKernelConfig):
    """The matrix products of `torch`, and one tensor of logits where that has three or more.

    The others are logits in float32, their log-softmax and its gradient. A loss can be
    differentiated once.
    """

    rows: int | None = field(metadata=at_least(1))
    """Tokens at a time of what is not a matrix product; null takes as many as have logits no larger
    than features or weight."""

    @override
    def reasons(self, use: Use) -> list[str]:
        return []

    @override
    def runs_as(self, use: Use) -> str:
        return self.name

    @override
    def build(self) -> CrossEntropyOp:
        of_logits = _operator()

        def losses(
            features: Float[Tensor, "R E"],
            weight: Float[Tensor, "V E"],
            targets: Int64[Tensor, " R"],
        ) -> Float[Tensor, " R"]:
            total, width = features.shape
            rows = self.rows or chunk_rows(rows=total, vocab=len(weight), width=width)
            return of_logits(F.linear(features, weight), targets, rows=rows)

        return losses


class _OfLogits(Protocol):
    def __call__(self, logits: Tensor, targets: Tensor, *, rows: int) -> Tensor: ...


@functools.cache
def _operator() -> _OfLogits:
    """Losses from logits, which nothing else may use."""

    @custom_op(_NAME, mutates_args=())
    def forward(logits: Tensor, targets: Tensor, *, rows: int) -> Tensor:
        check_range(targets, vocab=logits.shape[1])
        parts = zip(logits.split(rows), targets.split(rows), strict=True)
        return torch.cat([ROWS.losses(*part) for part in parts])

    @custom_op(f"{_NAME}_gradient_", mutates_args=["logits"])
    def gradient_(logits: Tensor, targets: Tensor, upstream: Tensor, *, rows: int) -> None:
        tensors = (logits, targets, upstream)
        for part in zip(*(tensor.split(rows) for tensor in tensors), strict=True):
            ROWS.gradient_(*part)

    @forward.register_fake
    def _(logits: Tensor, targets: Tensor, *, rows: int) -> Tensor:  # noqa: ARG001
        return logits.new_empty(len(logits), dtype=exact(logits.dtype))

    def save(ctx: Any, *, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:  # noqa: ARG001
        ctx.save_for_backward(*inputs)
        ctx.rows = keyword_only_inputs["rows"]

    def differentiate(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        if torch.is_grad_enabled():  # create_graph=True
            raise RuntimeError(
                "kernel/cross_entropy=in_place has no second derivative; "
                "kernel/cross_entropy=torch has one"
            )
        try:
            logits, targets = ctx.saved_tensors
        except RuntimeError as error:
            error.add_note(_SPENT)
            raise
        gradient_(logits, targets, upstream, rows=ctx.rows)
        return logits, None

    forward.register_autograd(differentiate, setup_context=save)
    return forward
