"""The rows of `cross_entropy` in plain torch."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from andrea_exp.kernel.cross_entropy.chunks import RowKernels
from andrea_exp.kernel.precision import exact


def losses(logits: Float[Tensor, "C V"], targets: Int64[Tensor, " C"]) -> Float[Tensor, " C"]:
    """Loss of each row."""
    return F.cross_entropy(logits.to(exact(logits.dtype)), targets, reduction="none")


def gradient_(
    logits: Float[Tensor, "C V"], targets: Int64[Tensor, " C"], upstream: Float[Tensor, " C"]
) -> None:
    """Turn logits into upstream * (softmax - one-hot)."""
    shares = F.softmax(logits, dim=1, dtype=upstream.dtype)
    shares[torch.arange(len(targets), device=targets.device), targets] -= 1
    torch.mul(shares, upstream[:, None], out=logits)


ROWS = RowKernels(losses, gradient_)
