"""The rows of `cross_entropy` in Triton: one program per row of logits."""
# pyright: basic

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int64
from torch import Tensor

from andrea_exp.kernel import triton_machine
from andrea_exp.kernel.cross_entropy.chunks import RowKernels
from andrea_exp.kernel.precision import exact

WARPS = 8
"""Of a program."""
_MOST_IDS = 4096
"""Of a row that a program holds at once."""


@triton.jit
def _peak_and_sum(row, vocab, REAL: tl.constexpr, LOWEST: tl.constexpr, BLOCK: tl.constexpr):
    """The largest logit, and the sum of exp(logit - largest) in one pass."""
    peak = tl.full((), LOWEST, REAL)
    total = tl.full((), 0, REAL)
    for start in range(0, vocab, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        logits = tl.load(row + ids, mask=ids < vocab, other=float("-inf")).to(REAL)
        higher = tl.maximum(peak, tl.max(logits))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(logits - higher))
        peak = higher
    return peak, total


@triton.jit
def losses_kernel(
    logits,
    targets,
    nats,
    vocab,
    stride,
    REAL: tl.constexpr,
    LOWEST: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write each row's log-sum-exp minus the logit of its target."""
    index = tl.program_id(0).to(tl.int64)
    row = logits + index * stride
    peak, total = _peak_and_sum(row, vocab, REAL, LOWEST, BLOCK)  # pyright: ignore[reportGeneralTypeIssues]
    chosen = tl.load(row + tl.load(targets + index)).to(REAL)
    tl.store(nats + index, tl.log(total) + (peak - chosen))


@triton.jit
def gradient_kernel(
    logits,
    targets,
    upstream,
    vocab,
    stride,
    REAL: tl.constexpr,
    LOWEST: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Turn each row into upstream * (softmax - one-hot)."""
    index = tl.program_id(0).to(tl.int64)
    row = logits + index * stride
    peak, total = _peak_and_sum(row, vocab, REAL, LOWEST, BLOCK)  # pyright: ignore[reportGeneralTypeIssues]
    target = tl.load(targets + index)
    factor = tl.load(upstream + index)
    for start in range(0, vocab, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        shares = tl.exp(tl.load(row + ids, mask=ids < vocab).to(REAL) - peak) / total
        gradient = factor * (shares - (ids == target).to(REAL))
        tl.store(row + ids, gradient.to(row.dtype.element_ty), mask=ids < vocab)


def losses(logits: Float[Tensor, "C V"], targets: Int64[Tensor, " C"]) -> Float[Tensor, " C"]:
    """Loss of each row; rows may lie apart."""
    nats = logits.new_empty(len(logits), dtype=exact(logits.dtype))
    _launch(losses_kernel, logits, targets, nats)
    return nats


def gradient_(
    logits: Float[Tensor, "C V"], targets: Int64[Tensor, " C"], upstream: Float[Tensor, " C"]
) -> None:
    """Turn logits into their gradients; rows may lie apart."""
    _launch(gradient_kernel, logits, targets, upstream)


ROWS = RowKernels(losses, gradient_)


def constants(logits: Tensor):
    """What the kernels are compiled for."""
    real = exact(logits.dtype)
    return {
        "REAL": tl.float64 if real == torch.float64 else tl.float32,
        "LOWEST": torch.finfo(real).min,
        "BLOCK": min(_MOST_IDS, triton.next_power_of_2(logits.shape[1])),
    }


def _launch(kernel, logits: Tensor, targets: Tensor, of_rows: Tensor) -> None:
    rows, vocab = logits.shape
    with triton_machine.launching(logits):
        kernel[(rows,)](
            logits,
            targets,
            of_rows,
            vocab,
            logits.stride(0),
            num_warps=WARPS,
            **constants(logits),
        )
