"""How the Triton kernels of attention are launched: block sizes, memory and grids."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from andrea_exp.kernel import triton_machine
from andrea_exp.kernel.attention import triton_kernels as kernels
from andrea_exp.kernel.attention.operator import Given, Left, empty, empty_gradients


class Blocks(NamedTuple):
    """What one program holds at a time, and with how much of a GPU."""

    block: int
    """Queries, and keys, of a block."""
    padded: int
    """Features of a head, up to a power of two, and at least the 16 that a matrix unit takes."""
    num_warps: int
    num_stages: int
    """Blocks that are under way from memory, with the one in use."""


def blocks(*, width: int, dtype: torch.dtype) -> Blocks:
    """Blocks that fit into 99 KB, the least that a GPU of compute capability 8.0 or more shares.

    Products of float32 have no matrix unit, and run out of registers before.
    """
    padded = max(16, 1 << (width - 1).bit_length())
    if triton_machine.interpreted():  # it takes as long for a large block as for a small one
        return Blocks(block=64, padded=padded, num_warps=1, num_stages=1)
    if dtype == torch.float64:
        return Blocks(block=16, padded=padded, num_warps=4, num_stages=2 if padded <= 64 else 1)
    if dtype == torch.float32:
        block = 32 if padded <= 64 else 16
        return Blocks(block=block, padded=padded, num_warps=block // 4, num_stages=2)
    return Blocks(block=64 if padded <= 128 else 32, padded=padded, num_warps=8, num_stages=2)


def forward(given: Given, *, causal: bool) -> Left:
    """Attention, with the logarithms to the base 2 of the sums of weights."""
    readable = _all_readable(given)
    left = empty(readable.query)
    _launch(kernels.forward_kernel, [*readable, *left], readable.query, flags={"CAUSAL": causal})
    return Left(output=left.output.to(given.query.dtype), lse=left.lse)


def backward(
    given: Given, left: Left, upstream: Tensor, *, causal: bool, of_bias: bool
) -> list[Tensor]:
    """Gradients of query, key, value and, if `of_bias`, of the bias."""
    readable, above, delta = _all_readable(given), _readable(upstream), torch.empty_like(left.lse)
    query, flags = readable.query, {"CAUSAL": causal}
    gradients = empty_gradients(readable, of_bias=of_bias)
    of_query, of_key, of_value, *rest = gradients
    _launch(kernels.delta_kernel, [_readable(left.output), above, delta], query)
    known = [*readable, above, left.lse, delta]
    _launch(kernels.query_gradient_kernel, [*known, of_query], query, flags=flags)
    _launch(kernels.key_value_gradient_kernel, [*known, of_key, of_value], query, flags=flags)
    for gradient in rest:
        _launch(kernels.bias_gradient_kernel, [*known, gradient], query, flags=flags)
    dtypes = [tensor.dtype for tensor in given if tensor is not None]
    return [gradient.to(dtype) for gradient, dtype in zip(gradients, dtypes, strict=False)]


def _launch(
    kernel: Any,
    tensors: Sequence[Tensor | None],
    query: Tensor,
    *,
    flags: Mapping[str, bool] | None = None,
) -> None:
    """Run a kernel, with one program for each block of its last tensor."""
    batches, heads, length, width = query.shape
    chosen = blocks(width=width, dtype=query.dtype)
    count = -(-length // chosen.block)
    rows = heads * count if kernel is kernels.bias_gradient_kernel else heads * batches
    with triton_machine.launching(query):
        kernel[(rows * count,)](
            *(tensor if tensor is None else (tensor, *tensor.stride()) for tensor in tensors),
            (batches, heads, length),
            WIDTH=width,
            BLOCK=chosen.block,
            PADDED=chosen.padded,
            num_warps=chosen.num_warps,
            num_stages=chosen.num_stages,
            **(flags or {}),
        )


def _all_readable(given: Given) -> Given:
    query, key, value, bias = given
    readable = None if bias is None else _readable(bias)
    return Given(_readable(query), _readable(key), _readable(value), readable)


def _readable(tensor: Tensor) -> Tensor:
    """Float32 for the interpreter, which multiplies bfloat16 by its bits and rounds to it down."""
    narrow = tensor.dtype == torch.bfloat16 and triton_machine.interpreted()
    return tensor.float() if narrow else tensor
