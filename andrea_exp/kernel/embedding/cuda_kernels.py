"""How the CUDA kernels of `embedding` are launched: memory, grids and the width of loads."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from andrea_exp.kernel.embedding.occurrences import occurrences
from andrea_exp.kernel.embedding.sinusoid import Sinusoid
from andrea_exp.kernel.launcher import Launcher
from andrea_exp.kernel.precision import exact

SOURCE: Final = Path(__file__).with_name("embedding.cu")
SEQUENCES: Final = 4
"""`kSequences` of the source."""
TILE: Final = 32
"""`kTile` of the source."""
_THREADS: Final = 256
_LOAD_BYTES: Final = 16
_SUFFIX: Final = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float64: "f64"}


@final
class CudaKernels:
    """The two functions of an `operator`, by the kernels of SOURCE."""

    def __init__(self, program: Launcher) -> None:
        self._program = program

    def gather(
        self,
        ids: Int64[Tensor, "B T"],
        table: Float[Tensor, "V E"],
        rows: Float[Tensor, "T E"] | Sinusoid | None,
        *,
        multiplier: float,
    ) -> Float[Tensor, "B T E"]:
        """Token rows times `multiplier`, plus position rows, in one kernel."""
        (batch, length), (vocab, width) = ids.shape, table.shape
        output = table.new_empty(batch, length, width)
        if output.numel() == 0:
            return output
        kernel, added = _added(rows)
        self._launch(
            kernel,
            [
                *(output, ids.contiguous(), table.contiguous()),
                *(batch, length, vocab, width, multiplier, *added),
            ],
            like=table,
            rows=length,
            sequences=batch,
        )
        return output

    def table_gradient(
        self,
        ids: Int64[Tensor, "B T"],
        upstream: Float[Tensor, "B T E"],
        *,
        vocab: int,
        multiplier: float,
    ) -> Float[Tensor, "V E"]:
        """Sort the ids; sum what many places have in common; write every row once."""
        places, width = ids.numel(), upstream.shape[2]
        gradient = upstream.new_empty(vocab, width)
        if places == 0 or width == 0:
            return gradient.zero_()
        flat = ids.contiguous().flatten()
        order, starts = occurrences(flat, vocab=vocab)
        above, tiles = upstream.contiguous(), places // TILE
        sums = upstream.new_empty(tiles, width, dtype=exact(upstream.dtype))
        if tiles:
            self._launch(
                "sum_tiles",
                [sums, flat, above, order, tiles, width],
                like=gradient,
                rows=tiles,
            )
        self._launch(
            "sum_rows",
            [gradient, above, order, starts, sums, vocab, width, multiplier],
            like=gradient,
            rows=vocab,
        )
        return gradient

    def _launch(
        self,
        kernel: str,
        arguments: Sequence[Tensor | int | float],
        *,
        like: Float[Tensor, "_ E"],
        rows: int,
        sequences: int = 1,
    ) -> None:
        """One thread for each part of `rows` rows as wide as those of `like`, and of its dtype."""
        width, together = like.shape[1], _LOAD_BYTES // like.element_size()
        wide = width % together == 0 and all(
            tensor.data_ptr() % _LOAD_BYTES == 0
            for tensor in arguments
            if isinstance(tensor, Tensor)
        )
        threads = rows * (width // together if wide else width)
        self._program.launch(
            f"{kernel}_{_SUFFIX[like.dtype]}",
            grid=(-(-threads // _THREADS), -(-sequences // SEQUENCES), 1),
            block=_THREADS,
            arguments=[*arguments, int(wide)],
        )


def _added(
    rows: Float[Tensor, "T E"] | Sinusoid | None,
) -> tuple[str, list[Tensor | int | float]]:
    """The kernel that adds such rows, and what it takes for that."""
    if rows is None:
        return "gather", []
    if isinstance(rows, Tensor):
        return "gather_with_rows", [rows.contiguous()]
    index = rows.index.contiguous()
    return "gather_with_sinusoid", [index, math.log2(rows.base), rows.multiplier]
