"""The two functions of a backend as an operator that torch can trace and derive."""

from typing import Any, Protocol

from jaxtyping import Float, Int64
from torch import Tensor
from torch.library import custom_op

from andrea_exp.kernel.embedding.base import EmbeddingOp, check_range
from andrea_exp.kernel.embedding.sinusoid import Sinusoid


class Gather(Protocol):
    """The forward pass."""

    def __call__(
        self,
        ids: Int64[Tensor, "B T"],
        table: Float[Tensor, "V E"],
        rows: Float[Tensor, "T E"] | Sinusoid | None,
        *,
        multiplier: float,
    ) -> Float[Tensor, "B T E"]:
        """Multiplier * table[ids] + rows, rounded once, in memory of its own.

        An id outside the table stops a GPU; on the CPU there is none.
        """
        ...


class TableGradient(Protocol):
    """The backward pass, as far as it is no plain sum."""

    def __call__(
        self,
        ids: Int64[Tensor, "B T"],
        upstream: Float[Tensor, "B T E"],
        *,
        vocab: int,
        multiplier: float,
    ) -> Float[Tensor, "V E"]:
        """For each of `vocab` rows, multiplier times the sum of `upstream` where its id stands."""
        ...


def operator(name: str, *, gather: Gather, table_gradient: TableGradient) -> EmbeddingOp:
    """The pair as `torch.ops.andrea_exp.<name>_embedding`. A name can be used once.

    As by torch, autocast changes nothing. There is no second derivative.
    """
    space = f"andrea_exp::{name}_embedding"

    @custom_op(
        space,
        mutates_args=(),
        schema="(Tensor ids, Tensor table, Tensor? rows, Tensor? index, *, "
        "float base, float amplitude, float multiplier) -> Tensor",
    )
    def forward(*given: Any, base: float, amplitude: float, multiplier: float) -> Tensor:
        ids, table, rows, index = given
        check_range(ids, vocab=len(table))
        if index is not None:
            width = table.shape[1]
            rows = Sinusoid(index=index, width=width, base=base, multiplier=amplitude)
        return gather(ids, table, rows, multiplier=multiplier)

    @custom_op(
        f"{space}_table_gradient",
        mutates_args=(),
        schema="(Tensor ids, Tensor upstream, *, SymInt vocab, float multiplier) -> Tensor",
    )
    def backward(ids: Tensor, upstream: Tensor, *, vocab: int, multiplier: float) -> Tensor:
        return table_gradient(ids, upstream, vocab=vocab, multiplier=multiplier)

    @forward.register_fake
    def _(
        ids: Tensor,
        table: Tensor,
        *_: Any,
        base: float,  # noqa: ARG001
        amplitude: float,  # noqa: ARG001
        multiplier: float,  # noqa: ARG001
    ) -> Tensor:
        return table.new_empty(*ids.shape, table.shape[1])

    @backward.register_fake
    def _(ids: Tensor, upstream: Tensor, *, vocab: int, multiplier: float) -> Tensor:  # noqa: ARG001
        return upstream.new_empty(vocab, upstream.shape[2])

    def remember(ctx: Any, *, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:  # noqa: ARG001 - torch names them
        ids, table, *_ = inputs
        ctx.save_for_backward(ids)
        ctx.vocab, ctx.multiplier = len(table), keyword_only_inputs["multiplier"]

    def derive(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        (ids,) = ctx.saved_tensors
        _, wants_table, wants_rows, _ = ctx.needs_input_grad
        of_table = of_rows = None
        if wants_table:
            of_table = backward(ids, upstream, vocab=ctx.vocab, multiplier=ctx.multiplier)
        if wants_rows:
            of_rows = upstream.sum(0)
        return None, of_table, of_rows, None

    forward.register_autograd(derive, setup_context=remember)

    def embed(
        ids: Int64[Tensor, "B T"],
        table: Float[Tensor, "V E"],
        rows: Float[Tensor, "T E"] | Sinusoid | None,
        *,
        multiplier: float,
    ) -> Float[Tensor, "B T E"]:
        _check_rows(rows, ids=ids, table=table)
        if not isinstance(rows, Sinusoid):
            return forward(ids, table, rows, None, base=1.0, amplitude=0.0, multiplier=multiplier)
        return forward(
            ids,
            table,
            None,
            rows.index,
            base=rows.base,
            amplitude=rows.multiplier,
            multiplier=multiplier,
        )

    return embed


def _check_rows(rows: Tensor | Sinusoid | None, *, ids: Tensor, table: Tensor) -> None:
    """Kernels trust their sizes."""
    if rows is None:
        return
    places, width = ids.shape[1], table.shape[1]
    if rows.shape != (places, width):
        raise ValueError(
            f"position rows must have shape (T, E) = {(places, width)}, got {tuple(rows.shape)}"
        )
    if isinstance(rows, Tensor) and rows.dtype != table.dtype:
        raise TypeError(
            f"position rows must have the token table's dtype {table.dtype}, got {rows.dtype}"
        )
