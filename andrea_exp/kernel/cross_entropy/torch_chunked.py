"""`cross_entropy` by torch's own `linear_cross_entropy`, a chunk of tokens at a time."""

from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor
from typing_extensions import override

from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig, CrossEntropyOp
from andrea_exp.kernel.cross_entropy.targets import NO_ID, check_range


@final
@dataclass(kw_only=True, frozen=True)
class TorchChunkedConfig(CrossEntropyKernelConfig):
    """Chunks as torch chooses them; its backward pass computes the logits again."""

    @override
    def reasons(self, use: Use) -> list[str]:
        found: list[str] = []
        if not hasattr(torch.nn, "LinearCrossEntropyOptions"):
            found.append(f"torch {torch.__version__} does not have it (pip install 'torch>=2.13')")
        if use.dtype not in (torch.float32, torch.float64):
            found.append(
                f"it rounds losses to the products' {use.dtype}, and a loss has to be float32 "
                "(trainer.precision=fp32)"
            )
        return found

    @override
    def runs_as(self, use: Use) -> str:
        return self.name

    @override
    def build(self) -> CrossEntropyOp:
        return losses


def losses(
    features: Float[Tensor, "R E"],
    weight: Float[Tensor, "V E"],
    targets: Int64[Tensor, " R"],
) -> Float[Tensor, " R"]:
    """Loss of each target in nats."""
    check_range(targets, vocab=len(weight))
    return F.linear_cross_entropy(
        features,
        weight,
        targets,
        reduction="none",
        ignore_index=NO_ID,
        options=torch.nn.LinearCrossEntropyOptions(),
    )
