"""How large position rows are beside token rows where they are added.

A sum lets the larger part decide: rows of a raw sinusoid are 35 times as long as token rows drawn
with a standard deviation of 0.02.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from andrea_exp.kernel.embedding.sinusoid import written
from andrea_exp.model.decoder import Decoder
from andrea_exp.position.base import Positions


class InputNorms(NamedTuple):
    """Norms of what enters the sum, on the CPU."""

    tokens: Float64[Tensor, " V"]
    """Of each id's vector, after a factor or a projection and before a norm."""
    positions: Float64[Tensor, " T"] | None
    """Of rows 0..T-1; None for a scheme that adds none."""


@dataclass(kw_only=True, frozen=True)
class InputScale:
    """Mean norms, and their ratio."""

    token_norm: float
    """Of the token vectors, each as often as it was read."""
    position_norm: float | None
    """Of rows 0..T-1; None for a scheme that adds none."""
    ratio: float | None
    """position_norm / token_norm."""


@torch.inference_mode()
def input_norms(model: Decoder) -> InputNorms:
    """The norms as they are now."""
    table = model.embedding.token_rows()
    rows = model.position.rows(Positions.first(model.sizes.context, device=table.device))
    return InputNorms(
        tokens=_norms(model.embedding.entering(table)),
        positions=None if rows is None else _norms(written(rows, dtype=table.dtype)),
    )


def _norms(rows: Float[Tensor, "M D"]) -> Float64[Tensor, " M"]:
    return rows.norm(dim=1).double().cpu()


def input_scale(norms: InputNorms, *, times: Int64[Tensor, " V"]) -> InputScale:
    """Mean norms.

    Args:
        norms: of a model, at any time of its training.
        times: how often each id is read; at least one is.
    """
    tokens = float((norms.tokens * times).sum() / times.sum())
    positions = None if norms.positions is None else float(norms.positions.mean())
    return InputScale(
        token_norm=tokens,
        position_norm=positions,
        ratio=None if positions is None or tokens == 0 else positions / tokens,
    )
