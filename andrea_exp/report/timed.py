"""What is told of a timed backend, in the terminal and in reports."""

from andrea_exp.record.bench import Block, Pass
from andrea_exp.report.format import MISSING, count, quantity, share, significant

HEADS = ("ms", "quartiles", "ratio", "quartiles", "copy", "product", "MB")
"""Of the cells of a pass."""
LEGEND = (
    "Medians over rounds in which every backend is called once; both: forward and backward in one "
    "go. ratio: to torch in the same round. "
    "copy: least traffic, as a share of what a copy in memory moves here; product: operations, as "
    "a share of a large matrix product's; either can pass 100% where caches hold everything, or "
    "where these two were measured while other programs ran. MB: peak of torch's allocator beyond "
    "the inputs."
)


def cells(found: Pass) -> list[str]:
    """The numbers of a pass."""
    memory = found.peak_memory_bytes
    return [
        significant(found.ms_median),
        _between(found.ms_q1, found.ms_q3),
        significant(found.ratio_to_torch),
        _between(found.ratio_q1, found.ratio_q3),
        share(found.fraction_of_copy),
        share(found.fraction_of_product),
        significant(None if memory is None else memory / 1e6),
    ]


def sizes(block: Block) -> str:
    """The sizes of a block, after what tells it from the others."""
    numbers = (
        f"B {block.sequences}, T {block.tokens}, D {block.width}, N {block.heads}, "
        f"V {count(block.vocab)}, {block.precision}"
    )
    marks = {
        "biased": block.biased,
        "not causal": not block.causal,
        f"dropout {block.dropout:g}": block.dropout > 0,
        "compiled": block.compiled,
    }
    told = ", ".join([numbers, *(words for words, holds in marks.items() if holds)])
    return f"{block.label}: {told}"


def machine(block: Block) -> str:
    """On what a block was measured, and what that reaches."""
    return (
        f"{block.device}, {quantity(block.threads, 'thread')}; copy "
        f"{significant(block.copy_gb_per_s)} GB/s, "
        f"product {significant(block.product_tflop_per_s)} TFLOP/s"
    )


def _between(low: float | None, high: float | None) -> str:
    """Two quartiles; one number where they are the same."""
    if low is None or low == high:
        return significant(low)
    return f"{significant(low)}{MISSING}{significant(high)}"
