"""Do position rows live where token vectors do? Principal angles between their main subspaces.

Bjorck and Golub 1973 (doi:10.2307/2005662): the cosines are the singular values of A'B, for
orthonormal bases A and B.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from andrea_exp.evaluate.cosine import centred


@dataclass(kw_only=True, frozen=True)
class Overlap:
    """The spans of the first k principal directions of either table, both centred."""

    k: int
    """Directions of each: those that hold 95 % of the position rows' variance (`k95`), or as many
    as there are token vectors less one."""
    cosines: list[float]
    """Of the k principal angles, largest first; 1: a shared direction."""
    mean_squared_cosine: float
    """Share of a random vector of one span that lies in the other."""
    random: float
    """What two random spans of k of the D directions give on average: k/D."""


def overlap(
    rows: Float[Tensor, "M D"], tokens: Float[Tensor, "V D"], *, k95: int | None
) -> Overlap | None:
    """Compare position rows with token vectors of the same width.

    None where the rows span nothing (`k95` is None), there is a single token, or a number is not
    finite.
    """
    k = min(k95 or 0, len(tokens) - 1)
    if k < 1 or not (rows.isfinite().all() and tokens.isfinite().all()):
        return None
    cosines = torch.linalg.svdvals(_basis(rows, k).T @ _basis(tokens, k)).clamp(max=1)
    return Overlap(
        k=k,
        cosines=cosines.tolist(),
        mean_squared_cosine=float(cosines.square().mean()),
        random=k / rows.shape[1],
    )


def _basis(table: Float[Tensor, "M D"], k: int) -> Float64[Tensor, "D k"]:
    """Orthonormal directions of most variance; D x D, as a vocabulary may be long."""
    about = centred(table.detach().double().cpu())
    return torch.linalg.eigh(about.T @ about).eigenvectors[:, -k:]
