"""`cross_entropy` a chunk of tokens at a time, so that the (R, V) logits never exist at once.

The forward pass drops the logits of each chunk, and the backward pass computes them again: a fourth
matrix product of that size. Both reuse one buffer of (C, V) logits for all chunks of C tokens.
Liger-Kernel (Hsu et al. 2024, arXiv:2410.10989) has the idea, and saves that product where the loss
is already a mean or a sum, by computing gradients in the forward pass.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from andrea_exp.kernel.cross_entropy.base import CrossEntropyOp
from andrea_exp.kernel.cross_entropy.operator import Given, operator
from andrea_exp.kernel.cross_entropy.targets import check_range
from andrea_exp.kernel.precision import exact


class RowKernels(NamedTuple):
    """What is computed row by row from logits, in the precision of `exact`."""

    losses: Callable[[Float[Tensor, "C V"], Int64[Tensor, " C"]], Float[Tensor, " C"]]
    """(logits, targets) -> loss of each row."""
    gradient_: Callable[[Float[Tensor, "C V"], Int64[Tensor, " C"], Float[Tensor, " C"]], None]
    """(logits, targets, gradients of the losses): turns logits into their gradients, in place."""


def in_chunks(name: str, kernels: RowKernels, *, rows: int | None) -> CrossEntropyOp:
    """The operation by torch's matrix products and these row kernels.

    Args:
        name: of the backend; it can be used once with each number of rows.
        kernels: what computes the rows of logits.
        rows: C, tokens of a chunk; None leaves it to `chunk_rows`.
    """
    return operator(
        name if rows is None else f"{name}_{rows}",
        losses=partial(losses, kernels=kernels, rows=rows),
        gradients=partial(gradients, kernels=kernels, rows=rows),
    )


def chunk_rows(*, rows: int, vocab: int, width: int) -> int:
    """C that makes the logits no larger than features (R, E) or weight (V, E), but 1 at least.

    The gradient of the larger of these is as large, so logits do not decide what memory is needed.
    """
    return max(1, max(rows, vocab) * width // vocab)


def losses(given: Given, *, kernels: RowKernels, rows: int | None) -> Float[Tensor, " R"]:
    """The forward pass."""
    check_range(given.targets, vocab=len(given.weight))
    nats = given.features.new_empty(len(given.features), dtype=exact(given.features.dtype))
    targets = given.targets.contiguous()
    for chunk, logits in _scored(given, rows):
        nats[chunk] = kernels.losses(logits, targets[chunk])
    return nats


def gradients(
    given: Given, upstream: Float[Tensor, " R"], *, kernels: RowKernels, rows: int | None
) -> tuple[Float[Tensor, "R E"], Float[Tensor, "V E"]]:
    """The backward pass; the weight's gradient is rounded once, after the sum over chunks."""
    features, weight, targets = given
    targets, upstream = targets.contiguous(), upstream.contiguous()
    in_features = features.new_empty(features.shape)
    in_weight = weight.new_zeros(weight.shape, dtype=exact(weight.dtype))
    for chunk, logits in _scored(given, rows):
        kernels.gradient_(logits, targets[chunk], upstream[chunk])
        torch.mm(logits, weight, out=in_features[chunk])
        _add_product(in_weight, logits.T, features[chunk])
    return in_features, in_weight.to(weight.dtype)


def _scored(given: Given, rows: int | None) -> Iterator[tuple[slice, Float[Tensor, "C V"]]]:
    """Where each chunk is, and its logits, which those of the next chunk overwrite."""
    features, columns = given.features, given.weight.T
    total, vocab = len(features), len(given.weight)
    rows = rows or chunk_rows(rows=total, vocab=vocab, width=features.shape[1])
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
