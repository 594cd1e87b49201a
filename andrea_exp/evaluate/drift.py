"""How far training moved each row of a table, beside what weight decay alone does.

A decayed row that never has a gradient is multiplied by a known factor and turned by nothing: its
drift is the floor, and its cosine with where it started stays 1.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor


class Decay(NamedTuple):
    """What a training does to parameters without a gradient."""

    kept: float
    """Factor that is left of them at its end, in exact arithmetic; 1 without decay."""
    steps: int
    """Optimizer steps, each of which rounds."""


@dataclass(kw_only=True, frozen=True)
class Drift:
    """Entry p of a list is row p, those past the trained length too. None: a row began at zero."""

    relative: list[float | None]
    """Norm of e_p - e_p(0) over the norm of e_p(0)."""
    one_minus_cosine: list[float | None]
    """1 - cos(e_p, e_p(0))."""
    decay_floor: float
    """`relative` of a row that had decay and never a gradient: 1 - prod(1 - lr_t wd) for AdamW."""
    first_untrained_row: int | None
    """The first row that training never moved: its bits are the initial ones, or it is where decay
    alone leaves it. None if every row moved."""


def drift(init: Float[Tensor, "M D"], trained: Float[Tensor, "M D"], *, decay: Decay) -> Drift:
    """Compare a table with itself before training."""
    untrained = _untrained(init, trained, decay=decay).nonzero()
    before, after = (table.detach().double().cpu() for table in (init, trained))
    length = before.norm(dim=1)
    apart = (after / after.norm(dim=1, keepdim=True) - before / length[:, None]).norm(dim=1)
    return Drift(
        relative=_defined((after - before).norm(dim=1) / length),
        # 1 - cos = |u - v|^2 / 2 of unit rows, which does not cancel where they are close.
        one_minus_cosine=_defined(apart.square() / 2),
        decay_floor=abs(1 - decay.kept),
        first_untrained_row=int(untrained[0]) if len(untrained) else None,
    )


def _untrained(
    init: Float[Tensor, "M D"], trained: Float[Tensor, "M D"], *, decay: Decay
) -> Bool[Tensor, " M"]:
    """Rows with their initial bits, or within 1e-5 of the floor (and rounding) of where it is."""
    same = (init == trained).all(dim=1).cpu()
    if decay.kept == 1:
        return same
    before, after = (table.detach().double().cpu() for table in (init, trained))
    rounding = decay.steps * torch.finfo(init.dtype).eps
    allowed = 1e-5 * abs(1 - decay.kept) + rounding
    return same | ((after - decay.kept * before).norm(dim=1) <= allowed * before.norm(dim=1))


def _defined(values: Float64[Tensor, " M"]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]
