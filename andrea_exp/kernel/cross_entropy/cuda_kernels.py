"""The rows of `cross_entropy` in CUDA C++: one block per row of logits."""

from pathlib import Path
from typing import Final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from andrea_exp.kernel.cross_entropy.chunks import RowKernels
from andrea_exp.kernel.launcher import WARP, Launcher
from andrea_exp.kernel.precision import exact

SOURCE: Final = Path(__file__).with_name("cross_entropy.cu")
_SUFFIXES: Final = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float64: "f64"}
_IDS_OF_A_THREAD: Final = 8
"""At least, of a row that is long enough for more threads than a warp has."""
_MOST_THREADS: Final = 512


def row_kernels(program: Launcher) -> RowKernels:
    """The row kernels, by a program made of `SOURCE`."""

    def losses(logits: Float[Tensor, "C V"], targets: Int64[Tensor, " C"]) -> Float[Tensor, " C"]:
        nats = logits.new_empty(len(logits), dtype=exact(logits.dtype))
        _launch(program, "losses", [logits, targets, nats])
        return nats

    def gradient_(
        logits: Float[Tensor, "C V"], targets: Int64[Tensor, " C"], upstream: Float[Tensor, " C"]
    ) -> None:
        _launch(program, "gradient", [logits, targets, upstream])

    return RowKernels(losses, gradient_)


def _launch(program: Launcher, kernel: str, tensors: list[Tensor]) -> None:
    rows, vocab = tensors[0].shape
    warps = max(1, min(_MOST_THREADS, vocab // _IDS_OF_A_THREAD) // WARP)
    program.launch(
        f"{kernel}_{_SUFFIXES[tensors[0].dtype]}",
        grid=(rows, 1, 1),
        block=warps * WARP,
        arguments=[*tensors, vocab],
    )
