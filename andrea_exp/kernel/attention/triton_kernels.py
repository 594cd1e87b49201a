"""Attention by blocks, forward and backward: FlashAttention-2, Dao 2023 (arXiv:2307.08691).

The scores are never stored. A program holds one block of queries (or keys) and walks over those of
the other kind; the softmax is carried along by its running maximum and sum, and its logarithm
`lse` is kept for the backward pass, which makes the scores again. Beyond the paper: an additive
bias (N, T, T), the same for every sequence of the batch, with its gradient. That is a sum over the
batch, so one program owns one block of it and takes the sequences in turn: no atomic additions, and
the same bits every time.

A tensor is passed as a tuple, its pointer and the stride of each axis; `sizes` are (B, N, T).
Exponents are to the base 2, so scores and `lse` are logarithms to that base. Sums and exponents are
in the precision of `lse`, whatever that of the vectors.
"""
# pyright: basic, reportGeneralTypeIssues=false
# To pyright a kernel's functions never return: they may be called by kernels alone.

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def forward_kernel(
    query,
    key,
    value,
    bias,
    output,
    lse,
    sizes,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    PADDED: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """Output and `lse` of one block of queries."""
    heads, length = sizes[1], sizes[2]
    sequence, first = _own_block(length, BLOCK)
    batch, head = sequence // heads, sequence % heads
    queries = first + tl.arange(0, BLOCK)
    q = _load_rows(query, batch, head, queries, length, WIDTH, PADDED)
    exact: tl.constexpr = lse[0].dtype.element_ty
    largest = tl.full([BLOCK], float("-inf"), exact)
    total = tl.zeros([BLOCK], exact)
    mixed = tl.zeros([BLOCK, PADDED], exact)
    end = tl.minimum(first + BLOCK, length) if CAUSAL else length
    for start in range(0, end, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        k = _load_rows(key, batch, head, keys, length, WIDTH, PADDED)
        v = _load_rows(value, batch, head, keys, length, WIDTH, PADDED)
        scores = _scores(q, k, bias, head, queries, keys, length, WIDTH, CAUSAL)
        new_largest = tl.maximum(largest, tl.max(scores, 1))
        # -inf while a query has seen no key: that must not be subtracted from itself.
        origin = tl.where(new_largest == float("-inf"), 0.0, new_largest)
        weights = tl.exp2(scores - origin[:, None])
        shrink = tl.exp2(largest - origin)
        total = total * shrink + tl.sum(weights, 1)
        mixed = _product(weights, v, mixed * shrink[:, None])
        largest = new_largest
    # A query from which the bias hides every key gets zeros, as it does from torch.
    blind = total == 0
    divisor = tl.where(blind, 1.0, total)
    _store_rows(output, batch, head, queries, length, mixed / divisor[:, None], WIDTH, PADDED)
    logarithm = tl.where(blind, float("inf"), largest + tl.log2(divisor))
    tl.store(_starts(lse, batch, head, queries), logarithm, mask=queries < length)


@triton.jit
def delta_kernel(
    output,
    upstream,
    delta,
    sizes,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    PADDED: tl.constexpr,
):
    """The paper's D, each output times its gradient, for one block of queries."""
    heads, length = sizes[1], sizes[2]
    sequence, first = _own_block(length, BLOCK)
    batch, head = sequence // heads, sequence % heads
    queries = first + tl.arange(0, BLOCK)
    exact: tl.constexpr = delta[0].dtype.element_ty
    o = _load_rows(output, batch, head, queries, length, WIDTH, PADDED).to(exact)
    u = _load_rows(upstream, batch, head, queries, length, WIDTH, PADDED).to(exact)
    tl.store(_starts(delta, batch, head, queries), tl.sum(o * u, 1), mask=queries < length)


@triton.jit
def query_gradient_kernel(
    query,
    key,
    value,
    bias,
    upstream,
    lse,
    delta,
    gradient,
    sizes,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    PADDED: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """Gradient of one block of queries."""
    heads, length = sizes[1], sizes[2]
    sequence, first = _own_block(length, BLOCK)
    batch, head = sequence // heads, sequence % heads
    queries = first + tl.arange(0, BLOCK)
    q = _load_rows(query, batch, head, queries, length, WIDTH, PADDED)
    u = _load_rows(upstream, batch, head, queries, length, WIDTH, PADDED)
    logarithm, d = _load_lse_and_d(lse, delta, batch, head, queries, length)
    summed = tl.zeros([BLOCK, PADDED], lse[0].dtype.element_ty)
    end = tl.minimum(first + BLOCK, length) if CAUSAL else length
    for start in range(0, end, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        k = _load_rows(key, batch, head, keys, length, WIDTH, PADDED)
        v = _load_rows(value, batch, head, keys, length, WIDTH, PADDED)
        scores = _scores(q, k, bias, head, queries, keys, length, WIDTH, CAUSAL)
        slopes = _slopes(tl.exp2(scores - logarithm[:, None]), u, v, d)
        summed = _product(slopes, k, summed)
    scaled = summed * (1 / WIDTH**0.5)
    _store_rows(gradient, batch, head, queries, length, scaled, WIDTH, PADDED)


@triton.jit
def key_value_gradient_kernel(
    query,
    key,
    value,
    bias,
    upstream,
    lse,
    delta,
    key_gradient,
    value_gradient,
    sizes,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    PADDED: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """Gradients of one block of keys and of its values."""
    heads, length = sizes[1], sizes[2]
    sequence, first = _own_block(length, BLOCK)
    batch, head = sequence // heads, sequence % heads
    keys = first + tl.arange(0, BLOCK)
    k = _load_rows(key, batch, head, keys, length, WIDTH, PADDED)
    v = _load_rows(value, batch, head, keys, length, WIDTH, PADDED)
    exact: tl.constexpr = lse[0].dtype.element_ty
    of_key = tl.zeros([BLOCK, PADDED], exact)
    of_value = tl.zeros([BLOCK, PADDED], exact)
    for start in range(first if CAUSAL else 0, length, BLOCK):
        queries = start + tl.arange(0, BLOCK)
        q = _load_rows(query, batch, head, queries, length, WIDTH, PADDED)
        u = _load_rows(upstream, batch, head, queries, length, WIDTH, PADDED)
        logarithm, d = _load_lse_and_d(lse, delta, batch, head, queries, length)
        scores = _scores(q, k, bias, head, queries, keys, length, WIDTH, CAUSAL)
        weights = tl.exp2(scores - logarithm[:, None])
        of_value = _product(tl.trans(weights), u, of_value)
        of_key = _product(tl.trans(_slopes(weights, u, v, d)), q, of_key)
    scaled = of_key * (1 / WIDTH**0.5)
    _store_rows(key_gradient, batch, head, keys, length, scaled, WIDTH, PADDED)
    _store_rows(value_gradient, batch, head, keys, length, of_value, WIDTH, PADDED)


@triton.jit
def bias_gradient_kernel(
    query,
    key,
    value,
    bias,
    upstream,
    lse,
    delta,
    gradient,
    sizes,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    PADDED: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """Gradient of one block, queries by keys, of one head's bias; zero where the mask hides it."""
    batches, length = sizes[0], sizes[2]
    row, first_key = _own_block(length, BLOCK)
    blocks = tl.cdiv(length, BLOCK)
    head, first_query = row // blocks, row % blocks * BLOCK
    queries = first_query + tl.arange(0, BLOCK)
    keys = first_key + tl.arange(0, BLOCK)
    summed = tl.zeros([BLOCK, BLOCK], lse[0].dtype.element_ty)
    hidden = first_key > first_query if CAUSAL else False
    for batch in range(0 if hidden else batches):
        q = _load_rows(query, batch, head, queries, length, WIDTH, PADDED)
        k = _load_rows(key, batch, head, keys, length, WIDTH, PADDED)
        v = _load_rows(value, batch, head, keys, length, WIDTH, PADDED)
        u = _load_rows(upstream, batch, head, queries, length, WIDTH, PADDED)
        logarithm, d = _load_lse_and_d(lse, delta, batch, head, queries, length)
        scores = _scores(q, k, bias, head, queries, keys, length, WIDTH, CAUSAL)
        summed += _slopes(tl.exp2(scores - logarithm[:, None]), u, v, d)
    inside = (queries < length)[:, None] & (keys < length)[None, :]
    tl.store(_square(gradient, head, queries, keys), summed, mask=inside)


@triton.jit
def _scores(q, k, bias, head, queries, keys, length, WIDTH: tl.constexpr, CAUSAL: tl.constexpr):
    """Scores of a block; -inf where a query does not see a key."""
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * (LOG2_E / WIDTH**0.5)
    seen = (keys < length)[None, :]
    if bias is not None:
        inside = (queries < length)[:, None] & seen
        added = tl.load(_square(bias, head, queries, keys), mask=inside, other=0.0)
        scores += added.to(scores.dtype) * LOG2_E
    if CAUSAL:
        seen = seen & (keys[None, :] <= queries[:, None])
    return tl.where(seen, scores, float("-inf"))


@triton.jit
def _slopes(weights, u, v, d):
    """Gradient of the sum of product and bias, before the product's own scale."""
    return weights * (tl.dot(u, tl.trans(v), input_precision="ieee") - d[:, None])


@triton.jit
def _product(left, right, onto):
    """A matrix product on top of a sum: factors in the precision of `right`, never in tf32."""
    narrow = left.to(right.dtype)
    return tl.dot(narrow, right, onto, input_precision="ieee", out_dtype=onto.dtype)


@triton.jit
def _own_block(length, BLOCK: tl.constexpr):
    """In which row of blocks this program works, and the first position of its block."""
    blocks = tl.cdiv(length, BLOCK)
    program = tl.program_id(0)
    return program // blocks, program % blocks * BLOCK


@triton.jit
def _load_rows(tensor, batch, head, positions, length, WIDTH: tl.constexpr, PADDED: tl.constexpr):
    """Vectors of one head; zero past the last position and past the last feature."""
    inside = (positions < length)[:, None] & (tl.arange(0, PADDED) < WIDTH)[None, :]
    return tl.load(_rows(tensor, batch, head, positions, PADDED), mask=inside, other=0.0)


@triton.jit
def _store_rows(
    tensor, batch, head, positions, length, vectors, WIDTH: tl.constexpr, PADDED: tl.constexpr
):
    inside = (positions < length)[:, None] & (tl.arange(0, PADDED) < WIDTH)[None, :]
    tl.store(_rows(tensor, batch, head, positions, PADDED), vectors, mask=inside)


@triton.jit
def _load_lse_and_d(lse, delta, batch, head, queries, length):
    """`lse` and D of a block; past the last query they make every weight 2^(score - inf), zero."""
    inside = queries < length
    logarithm = tl.load(_starts(lse, batch, head, queries), mask=inside, other=float("inf"))
    d = tl.load(_starts(delta, batch, head, queries), mask=inside, other=0.0)
    return logarithm, d


# Where things lie. Offsets have 64 bits: a large batch has more numbers than 31 bits can count.


@triton.jit
def _rows(tensor, batch, head, positions, PADDED: tl.constexpr):
    features = tl.arange(0, PADDED).to(tl.int64) * tensor[4]
    return _starts(tensor, batch, head, positions)[:, None] + features[None, :]


@triton.jit
def _starts(tensor, batch, head, positions):
    """Where the vector, or the number, of each position begins."""
    start = tensor[0] + tl.cast(batch, tl.int64) * tensor[1] + tl.cast(head, tl.int64) * tensor[2]
    return start + positions.to(tl.int64) * tensor[3]


@triton.jit
def _square(tensor, head, queries, keys):
    rows = tensor[0] + tl.cast(head, tl.int64) * tensor[1] + queries.to(tl.int64) * tensor[2]
    return rows[:, None] + (keys.to(tl.int64) * tensor[3])[None, :]
