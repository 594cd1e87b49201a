"""Token gather with position rows, and the gradient of the token table.

Every number is read from memory once and written once, but for what a cache keeps. Sums and
products are in `exact` precision, float32 or, for float64, float64; results are rounded once.
"""
# pyright: basic, reportGeneralTypeIssues=false, reportInvalidTypeForm=false
# To pyright a kernel's functions never return (they may be called by kernels alone), and Triton's
# types are values.

import triton
import triton.language as tl

TURN = tl.constexpr(6.283185307179586)


@triton.jit(debug=True)  # or the assertion would be left out
def gather_kernel(
    output,
    ids,
    table,
    rows,
    index,
    batch,
    length,
    vocab,
    width,
    stride_batch,
    stride_length,
    multiplier: tl.float64,
    log2_base: tl.float64,
    amplitude: tl.float64,
    SEQUENCES: tl.constexpr,
    PLACES: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """One block of places and features, in some of the sequences.

    What is added comes from `rows`, is computed for the positions in `index`, or is nothing where
    both are None; it is there once for all these sequences.
    """
    exact: tl.constexpr = _exact(output)
    b = _own(1, SEQUENCES)[:, None, None]
    t = _own(0, PLACES)[None, :, None]
    e = _own(2, FEATURES)[None, None, :]
    here, wanted = (b < batch) & (t < length), e < width
    token = tl.load(ids + b * stride_batch + t * stride_length, mask=here, other=0)
    tl.device_assert((token >= 0) & (token < vocab), "a token id is outside the token table")
    vectors = tl.load(table + token * width + e, mask=here & wanted).to(exact)
    vectors *= tl.full([], multiplier, exact)
    if index is not None:
        position = tl.load(index + t, mask=t < length, other=0)
        vectors += tl.full([], amplitude, exact) * _sinusoid(position, e, width, log2_base, exact)
    elif rows is not None:
        vectors += tl.load(rows + t * width + e, mask=(t < length) & wanted).to(exact)
    stored = vectors.to(output.dtype.element_ty)
    tl.store(output + (b * length + t) * width + e, stored, mask=here & wanted)


@triton.jit
def _sinusoid(position, e, width, log2_base, exact: tl.constexpr):
    """The sine of position * base^(-2k/width), k = e // 2, or for odd e its cosine.

    The angle is reduced in float64, as a part of a turn from -1/4 to 1/4, and only then narrowed:
    in float32 it would be off by more than the sine may be, from some hundred positions on.
    """
    even = (e - e % 2).to(tl.float64)
    turns = position.to(tl.float64) * tl.exp2(-log2_base * even / width) / TURN
    turns += (e % 2).to(tl.float64) / 4  # cos a = sin (a + 1/4 turn)
    turns -= tl.floor(turns + 0.5)
    mirrored = tl.where(turns > 0, 0.5, -0.5) - turns  # has the same sine
    turns = tl.where(tl.abs(turns) > 0.25, mirrored, turns)
    return tl.sin((turns * TURN).to(exact))


@triton.jit
def tile_sums_kernel(sums, ids, upstream, order, width, TILE: tl.constexpr, FEATURES: tl.constexpr):
    """Sum of `upstream` at TILE occurrences in a row, if all of them are of one id.

    So an id that stands everywhere is no more work for the program that owns its row than others.
    """
    tile = tl.program_id(0).to(tl.int64)
    e = _own(1, FEATURES)
    first, last = tl.load(order + tile * TILE), tl.load(order + tile * TILE + TILE - 1)
    if tl.load(ids + first) == tl.load(ids + last):
        total = tl.zeros([FEATURES], sums.dtype.element_ty)
        total = _plus(total, upstream, order, tile * TILE, tile * TILE + TILE, e, width)
        tl.store(sums + tile * width + e, total, mask=e < width)


@triton.jit
def table_gradient_kernel(
    gradient,
    upstream,
    order,
    starts,
    sums,
    vocab,
    width,
    multiplier: tl.float64,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Some features of ROWS rows, each the sum of its occurrences in order; 0 if it has none.

    Tiles that lie within the occurrences of one row have been summed already.
    """
    exact: tl.constexpr = _exact(gradient)
    e = _own(1, FEATURES)
    first_row = tl.program_id(0).to(tl.int64) * ROWS
    for row in range(first_row, tl.minimum(first_row + ROWS, vocab)):
        start, end = tl.load(starts + row), tl.load(starts + row + 1)
        first_tile, end_tile = tl.cdiv(start, TILE), end // TILE
        before = tl.minimum(first_tile * TILE, end)
        after = tl.maximum(end_tile * TILE, before)
        total = tl.zeros([FEATURES], exact)
        total = _plus(total, upstream, order, start, before, e, width)
        total = _plus(total, sums, None, first_tile, end_tile, e, width)
        total = _plus(total, upstream, order, after, end, e, width)
        total *= tl.full([], multiplier, exact)
        stored = total.to(gradient.dtype.element_ty)
        tl.store(gradient + row * width + e, stored, mask=e < width)


@triton.jit
def _plus(total, source, order, start, end, e, width):
    """`total`, and after it one by one the rows of `source` that `order`, if any, names."""
    for first in range(start, end, 4):
        # Four rows are on their way at a time.
        for ahead in tl.static_range(4):
            at = first + ahead
            row = at if order is None else tl.load(order + at, mask=at < end, other=0)
            vector = tl.load(source + row * width + e, mask=(e < width) & (at < end), other=0)
            total += vector.to(total.dtype)
    return total


@triton.jit
def _own(axis: tl.constexpr, COUNT: tl.constexpr):
    """The indices along one axis that belong to this program."""
    return tl.program_id(axis).to(tl.int64) * COUNT + tl.arange(0, COUNT)


@triton.constexpr_function
def _exact(tensor):
    """The precision in which numbers of a tensor are computed."""
    return tl.float64 if tensor.dtype.element_ty == tl.float64 else tl.float32
