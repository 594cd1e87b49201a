"""How the Triton kernels of `embedding` are launched: block sizes, memory and grids."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from andrea_exp.kernel import triton_machine
from andrea_exp.kernel.embedding import triton_kernels as kernels
from andrea_exp.kernel.embedding.occurrences import occurrences
from andrea_exp.kernel.embedding.sinusoid import Sinusoid
from andrea_exp.kernel.precision import exact

SEQUENCES: Final = 4
"""Sequences that share what one program adds to their vectors."""
TILE: Final = 32
"""Occurrences of one id that are summed beforehand, if there are so many in a row."""
_LOAD_BYTES: Final = 16
_WARP: Final = 32


class Block(NamedTuple):
    """What one program holds: as much as its threads read with one load of 16 bytes each."""

    places: int
    features: int
    warps: int


def gather_block(*, width: int, dtype: torch.dtype) -> Block:
    """Four warps, for as many places as the width leaves room for."""
    numbers = 4 * _WARP * _LOAD_BYTES // dtype.itemsize
    features = min(256, _power_of_two(width), numbers)
    return Block(places=numbers // features, features=features, warps=4)


def gradient_block(*, width: int, dtype: torch.dtype) -> Block:
    """Part of one row, with no more warps than it needs."""
    features = min(256, _power_of_two(width))
    warps = max(1, features * dtype.itemsize // (_WARP * _LOAD_BYTES))
    return Block(places=1, features=features, warps=warps)


def rows_per_program(*, vocab: int, places: int) -> int:
    """So many table rows that there is about one occurrence to add, at most 16."""
    return min(16, _power_of_two(-(-vocab // places)))


def gather(
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
    block = gather_block(width=width, dtype=table.dtype)
    formula = rows if isinstance(rows, Sinusoid) else None
    arguments = (
        output,
        ids,
        table.contiguous(),
        rows.contiguous() if isinstance(rows, Tensor) else None,
        formula.index.contiguous() if formula else None,
        *(batch, length, vocab, width),
        *ids.stride(),
        multiplier,
        math.log2(formula.base) if formula else 0.0,
        formula.multiplier if formula else 0.0,
    )
    grid = (-(-length // block.places), -(-batch // SEQUENCES), -(-width // block.features))
    constants = {"SEQUENCES": SEQUENCES, "PLACES": block.places, "FEATURES": block.features}
    _launch(kernels.gather_kernel, arguments, grid=grid, constants=constants, warps=block.warps)
    return output


def table_gradient(
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
    block = gradient_block(width=width, dtype=upstream.dtype)
    parts, per_program = -(-width // block.features), rows_per_program(vocab=vocab, places=places)
    flat = ids.contiguous().flatten()
    order, starts = occurrences(flat, vocab=vocab)
    above = upstream.contiguous()
    sums = upstream.new_empty(places // TILE, width, dtype=exact(upstream.dtype))
    constants = {"TILE": TILE, "FEATURES": block.features}
    if len(sums):
        _launch(
            kernels.tile_sums_kernel,
            (sums, flat, above, order, width),
            grid=(len(sums), parts),
            constants=constants,
            warps=block.warps,
        )
    _launch(
        kernels.table_gradient_kernel,
        (gradient, above, order, starts, sums, vocab, width, multiplier),
        grid=(-(-vocab // per_program), parts),
        constants=constants | {"ROWS": per_program},
        warps=block.warps,
    )
    return gradient


def _launch(
    kernel: Any,
    arguments: Sequence[Tensor | int | float | None],
    *,
    grid: tuple[int, ...],
    constants: Mapping[str, int],
    warps: int,
) -> None:
    """Run a kernel where its output is, the first argument."""
    output = arguments[0]
    assert isinstance(output, Tensor)
    with triton_machine.launching(output):
        kernel[grid](*arguments, **constants, num_warps=warps)


def _power_of_two(number: int) -> int:
    """The smallest that is not below `number`."""
    return 1 << (number - 1).bit_length()
