"""Tables of known smoothness, of one shape, that a panel is read beside."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from andrea_exp.evaluate.panel import Panel, panel
from andrea_exp.kernel.embedding.sinusoid import sinusoid
from andrea_exp.seeding import torch_generator

BASE = 10_000.0
"""Of the control's wavelengths: that of Vaswani et al. 2017, whatever the model's scheme has."""


@dataclass(kw_only=True, frozen=True)
class Controls:
    """One draw each; none but `shuffled` depends on the table."""

    sinusoid: Panel
    """A smooth curve. Its numbers depend on the width, so only the same width compares."""
    iid: Panel
    """Independent normal rows: no order at all."""
    shuffled: Panel
    """The table's own rows in random order: its common mean and its norms, without the order."""
    random_walk: Panel
    """Sums of independent steps: neighbours are close, yet the path has no direction."""


def controls(rows: Float[Tensor, "M D"], *, seed: int) -> Controls:
    """The panels of the four controls; each draws from a stream of its own."""
    count, width = rows.shape
    order = torch.randperm(count, generator=torch_generator(seed, "control/shuffled"))
    return Controls(
        sinusoid=panel(sinusoid_rows(count, width=width)),
        iid=panel(_normal(count, width=width, generator=torch_generator(seed, "control/iid"))),
        shuffled=panel(rows.detach().cpu()[order]),
        random_walk=panel(
            _normal(
                count, width=width, generator=torch_generator(seed, "control/random_walk")
            ).cumsum(dim=0)
        ),
    )


def sinusoid_rows(count: int, *, width: int) -> Float64[Tensor, "M D"]:
    """Rows 0..count-1; an odd width leaves out the last cosine."""
    return sinusoid(torch.arange(count), width=width + width % 2, base=BASE)[:, :width]


def _normal(count: int, *, width: int, generator: torch.Generator) -> Float64[Tensor, "M D"]:
    return torch.randn(count, width, dtype=torch.float64, generator=generator)
