"""Are rows smoother than chance? Their own values in random orders are the null."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from andrea_exp.evaluate.cosine import centred, mean_cosine, unit
from andrea_exp.seeding import torch_generator

ROUNDING = 1e-12
"""Two orders that sum the same cosines, such as a reversal, are equally smooth."""


@dataclass(kw_only=True, frozen=True)
class Permutation:
    """The centred neighbour cosine of shuffled rows. None: it is not defined for these rows."""

    shuffles: int
    """How many random orders were drawn."""
    mean: float | None
    max: float | None
    """Of the smoothest order."""
    p: float | None
    """(1 + orders at least as smooth as the rows' own) / (1 + shuffles): Phipson and Smyth 2010
    (doi:10.2202/1544-6115.1585). One-sided, never 0."""


def permutation(rows: Float[Tensor, "M D"], *, shuffles: int, seed: int) -> Permutation:
    """Shuffle the rows of a table, in a random stream of its own."""
    exact = rows.detach().double().cpu()
    units = unit(centred(exact))
    own = mean_cosine(units, lag=1) if len(exact) > 2 and exact.isfinite().all() else None
    if own is None:
        return Permutation(shuffles=shuffles, mean=None, max=None, p=None)
    generator = torch_generator(seed, "permutation")
    drawn = [
        mean_cosine(units[torch.randperm(len(units), generator=generator)], lag=1)
        for _ in range(shuffles)
    ]
    found = torch.tensor([cosine for cosine in drawn if cosine is not None], dtype=torch.float64)
    smoother = int((found >= own - ROUNDING).sum())
    return Permutation(
        shuffles=shuffles,
        mean=float(found.mean()),
        max=float(found.max()),
        p=(1 + smoother) / (1 + shuffles),
    )
