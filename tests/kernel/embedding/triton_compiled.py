"""Compiles what `triton_launch` would launch, for GPUs that need not be here; prints it as JSON.

Run as `python -m tests.kernel.embedding.triton_compiled` without Triton's interpreter.
"""
# pyright: basic

import json
import re

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from andrea_exp.kernel.embedding import triton_launch
from andrea_exp.kernel.embedding.sinusoid import Sinusoid

ARCHITECTURES = (80, 90, 100)
TYPES = {
    torch.float32: "fp32",
    torch.bfloat16: "bf16",
    torch.float64: "fp64",
    torch.int64: "i64",
}
LENGTH, WIDTH, VOCAB = 32, 768, 50
found = []


def compile_it(kernel, arguments, *, grid, constants, warps):  # noqa: ARG001 - as `_launch`
    """In place of a launch: compiled for each architecture as the launcher would have it."""
    signature, fixed, even = {}, dict(constants), {}
    for position, (name, value) in enumerate(zip(kernel.arg_names, arguments, strict=False)):
        if value is None or (type(value) is int and value == 1):
            fixed[name] = value
        elif isinstance(value, torch.Tensor):
            signature[name] = f"*{TYPES[value.dtype]}"
            even[position,] = [["tt.divisibility", 16]]
        else:
            signature[name] = "i32" if isinstance(value, int) else "fp64"
            if isinstance(value, int) and value % 16 == 0:
                even[position,] = [["tt.divisibility", 16]]
    signature |= dict.fromkeys(fixed, "constexpr")
    order = {name: signature[name] for name in kernel.arg_names}
    places = {(kernel.arg_names.index(name),): value for name, value in fixed.items()}
    for architecture in ARCHITECTURES:
        code = triton.compile(
            ASTSource(fn=kernel, signature=order, constexprs=places, attrs=even),
            target=GPUTarget("cuda", architecture, 32),
            options={"num_warps": warps, "debug": kernel.debug},
        ).asm["ptx"]
        found.append(
            {
                "kernel": kernel.__name__,
                "output": TYPES[arguments[0].dtype],
                "architecture": architecture,
                "loads_of_16_bytes": len(re.findall(r"ld\.global\.\S*(v4\.b32|v2\.b64)", code)),
                "stops_at_a_wrong_id": "__assertfail" in code,
            }
        )


def main() -> None:
    """Both passes in every precision, with every kind of rows."""
    triton_launch._launch = compile_it
    ids = torch.zeros(2, LENGTH, dtype=torch.int64)
    formula = Sinusoid(index=torch.arange(LENGTH), width=WIDTH, base=1e4, multiplier=1.0)
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        table = torch.zeros(VOCAB, WIDTH, dtype=dtype)
        for rows in (None, table[:LENGTH], formula):
            triton_launch.gather(ids, table, rows, multiplier=1.0)
        upstream = torch.zeros(2, LENGTH, WIDTH, dtype=dtype)
        triton_launch.table_gradient(ids, upstream, vocab=VOCAB, multiplier=1.0)
    print(json.dumps(found))  # noqa: T201 - read by the test


if __name__ == "__main__":
    main()
