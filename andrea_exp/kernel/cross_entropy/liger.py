"""`cross_entropy` by Liger-Kernel's fused linear cross entropy (Hsu et al. 2024).

The paper is arXiv:2410.10989. Its gradients are asked for in the backward pass, when that of each
loss is known, and the weight's is summed in float32. Unlike our own kernels it rounds the gradients
of losses to bfloat16 if that is the dtype of the products.
"""
# pyright: reportMissingTypeStubs=false

import functools
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from andrea_exp.kernel import triton_machine
from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig, CrossEntropyOp
from andrea_exp.kernel.cross_entropy.operator import Given, operator
from andrea_exp.kernel.cross_entropy.targets import check_range


@final
@dataclass(kw_only=True, frozen=True)
class LigerConfig(CrossEntropyKernelConfig):
    """Its Triton kernels, and chunks of its choice: their logits are about as large as features."""

    @override
    def reasons(self, use: Use) -> list[str]:
        found = triton_machine.reasons(use)
        if find_spec("liger_kernel") is None:
            found.append("Liger-Kernel is not installed (pip install 'andrea_exp[gpu]', on Linux)")
        if use.dtype == torch.float64:
            found.append("its sums are float32 at most, and this run computes in float64")
        return found

    @override
    def runs_as(self, use: Use) -> str:
        return triton_machine.label(self.name)

    @override
    def build(self) -> CrossEntropyOp:
        return _operation()


@functools.cache
def _operation() -> CrossEntropyOp:
    return operator("liger", losses=_losses, gradients=_gradients)


def _losses(given: Given) -> Float[Tensor, " R"]:
    check_range(given.targets, vocab=len(given.weight))
    return _run(given, upstream=None)[0]


def _gradients(
    given: Given, upstream: Float[Tensor, " R"]
) -> tuple[Float[Tensor, "R E"], Float[Tensor, "V E"]]:
    *_, in_features, in_weight, _ = _run(given, upstream=upstream)
    return in_features, in_weight


@torch.no_grad()
def _run(given: Given, *, upstream: Float[Tensor, " R"] | None) -> tuple[Any, ...]:
    """Losses, three results not asked for, and the gradients in features, weight and bias."""
    # Liger-Kernel need not be installed where another backend is chosen.
    from liger_kernel.ops import fused_linear_cross_entropy as fused  # noqa: PLC0415

    with triton_machine.launching(given.features):
        return fused.fused_linear_cross_entropy_forward(
            given.features.contiguous(),
            given.weight.contiguous(),
            given.targets.contiguous(),
            reduction="none",
            accum_dtype=torch.float32,
            token_grad_output=upstream,
            compute_gradients=upstream is not None,
            weight_requires_grad=True,
        )
