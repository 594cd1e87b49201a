"""`cross_entropy` a chunk of tokens at a time, so that the (R, V) logits never exist at once.

The forward pass drops the logits of each chunk, and the backward pass computes them again: a fourth
matrix product of that size. Both reuse one buffer of (C, V) logits for all chunks of C tokens.
Liger-Kernel (Hsu et al. 2024, arXiv:2410.10989) saves that product by computing gradients in the
forward pass; only a loss that is already their mean or sum allows it.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from andrea_exp.kernel.cross_entropy.targets import check_range


class RowKernels(NamedTuple):
    """What is computed row by row from logits; in float32, for float64 logits in float64."""

    losses: Callable[[Float[Tensor, "C V"], Int64[Tensor, " C"]], Float[Tensor, " C"]]
    """(logits, targets) -> loss of each row."""
    gradient_: Callable[[Float[Tensor, "C V"], Int64[Tensor, " C"], Float[Tensor, " C"]], None]
    """(logits, targets, gradients of the losses): turns logits into their gradients, in place."""


def losses(
    features: Float[Tensor, "R E"],
    weight: Float[Tensor, "V E"],
    targets: Int64[Tensor, " R"],
    *,
    kernels: RowKernels,
    rows: int | None,
) -> Float[Tensor, " R"]:
    """Loss of each row.

    Args:
        features: what is scored.
        weight: the rows that it is scored against.
        targets: an id for each.
        kernels: what computes the rows of logits.
        rows: C; None leaves it to `chunk_rows`.
    """
    check_range(targets, vocab=len(weight))
    nats = features.new_empty(len(features), dtype=exact(features.dtype))
    targets = targets.contiguous()
    for chunk, logits in _scored(features, weight, rows):
        nats[chunk] = kernels.losses(logits, targets[chunk])
    return nats


def gradients(
    features: Float[Tensor, "R E"],
    weight: Float[Tensor, "V E"],
    targets: Int64[Tensor, " R"],
    *,
    upstream: Float[Tensor, " R"],
    kernels: RowKernels,
    rows: int | None,
) -> tuple[Float[Tensor, "R E"], Float[Tensor, "V E"]]:
    """Gradients in features and weight, from the gradients of the losses.

    The weight's is summed over chunks in float32, and rounded once.
    """
    weight, targets, upstream = weight.contiguous(), targets.contiguous(), upstream.contiguous()
    in_features = features.new_empty(features.shape)
    in_weight = weight.new_zeros(weight.shape, dtype=exact(weight.dtype))
    for chunk, logits in _scored(features, weight, rows):
        kernels.gradient_(logits, targets[chunk], upstream[chunk])
        torch.mm(logits, weight, out=in_features[chunk])
        _add_product(in_weight, logits.T, features[chunk])
    return in_features, in_weight.to(weight.dtype)


def chunk_rows(*, rows: int, vocab: int, width: int) -> int:
    """C that makes the logits no larger than features (R, E) or weight (V, E), but 1 at least.

    The gradient of the larger of these is as large, so logits do not decide what memory is needed.
    """
    return max(1, max(rows, vocab) * width // vocab)


def exact(dtype: torch.dtype) -> torch.dtype:
    """The precision of sums over rows and over ids."""
    return torch.promote_types(dtype, torch.float32)


def _scored(
    features: Float[Tensor, "R E"], weight: Float[Tensor, "V E"], rows: int | None
) -> Iterator[tuple[slice, Float[Tensor, "C V"]]]:
    """Where each chunk is, and its logits, which those of the next chunk overwrite."""
    total, vocab = len(features), len(weight)
    rows = rows or chunk_rows(rows=total, vocab=vocab, width=features.shape[1])
    columns = weight.contiguous().T
    buffer = features.new_empty(min(rows, total), vocab)
    for start in range(0, total, rows):
        chunk = slice(start, min(start + rows, total))
        logits = buffer[: chunk.stop - chunk.start]
        yield chunk, torch.mm(features[chunk], columns, out=logits)


def _add_product(
    total: Float[Tensor, "V E"], left: Float[Tensor, "V C"], right: Float[Tensor, "C E"]
) -> None:
    """Add left right to total; on CPUs, torch has no way but to round a bfloat16 product first."""
    if left.dtype == total.dtype:
        total.addmm_(left, right)
    elif left.is_cuda:
        torch.addmm(total, left, right, out_dtype=total.dtype, out=total)
    else:
        total += left @ right
