"""Compiles our Triton kernels for GPUs that need not be here; prints what came out as JSON.

Run as `python -m tests.kernel.cross_entropy.triton_compiled` without Triton's interpreter.
"""
# pyright: basic

import json
from itertools import product

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from andrea_exp.kernel.cross_entropy import triton_kernels
from andrea_exp.kernel.precision import exact

ARCHITECTURES = (80, 90, 100)
TYPES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float64: "fp64", torch.int64: "i64"}


def sizes(kernel, tensors):
    """Architecture -> bytes of machine code, of a kernel as `_launch` starts it."""
    names, constants = kernel.arg_names, triton_kernels.constants(tensors[0])
    types = [f"*{TYPES[tensor.dtype]}" for tensor in tensors] + ["i32", "i32"]
    source = ASTSource(
        fn=kernel,
        signature=dict(zip(names, types, strict=False)) | dict.fromkeys(constants, "constexpr"),
        constexprs={(names.index(name),): value for name, value in constants.items()},
    )
    options = {"num_warps": triton_kernels.WARPS}
    targets = {each: GPUTarget("cuda", each, 32) for each in ARCHITECTURES}
    return {
        each: len(triton.compile(source, target=target, options=options).asm["cubin"])
        for each, target in targets.items()
    }


def main() -> None:
    """Both kernels in every precision, for short rows and for long ones."""
    found = []
    for dtype, vocab in product((torch.float32, torch.bfloat16, torch.float64), (257, 50_257)):
        tensors = (
            torch.empty(2, vocab, dtype=dtype),
            torch.empty(2, dtype=torch.int64),
            torch.empty(2, dtype=exact(dtype)),
        )
        found += [
            [kernel.__name__, TYPES[dtype], vocab, sizes(kernel, tensors)]
            for kernel in (triton_kernels.losses_kernel, triton_kernels.gradient_kernel)
        ]
    print(json.dumps(found))  # noqa: T201 - read by the test


if __name__ == "__main__":
    main()
