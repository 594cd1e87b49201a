"""`cross_entropy` in plain torch, with the logits materialised: the reference."""

from dataclasses import dataclass
from typing import final

import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor
from typing_extensions import override

from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig, CrossEntropyOp
from andrea_exp.kernel.cross_entropy.targets import NO_ID, check_range
from andrea_exp.kernel.precision import exact


@final
@dataclass(kw_only=True, frozen=True)
class TorchConfig(CrossEntropyKernelConfig):
    """A matrix product and torch's cross entropy; runs everywhere."""

    @override
    def reasons(self, use: Use) -> list[str]:
        return []

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
    """Loss of each target in nats; the softmax is float32 whatever the product's precision."""
    check_range(targets, vocab=len(weight))
    logits = F.linear(features, weight)
    return F.cross_entropy(
        logits.to(exact(logits.dtype)), targets, reduction="none", ignore_index=NO_ID
    )
