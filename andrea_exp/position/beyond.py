"""What a table of trained rows does at positions past the trained length: the declared policies.

Inside the trained length every policy reads the same rows, bit for bit, by the same code.
"""

from enum import Enum

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor


class Beyond(Enum):
    """A policy past the trained length T; n is the length of the sequence."""

    error = "the length is refused"
    clamp = "row T-1 for every later position"
    wrap = "row p mod T"
    interpolate = "the T rows resampled to n: position p reads p (T-1)/(n-1), linearly"
    zero = "no row"
    mean = "the mean of the T rows"
    fresh = "an untrained row, as drawn at init"
    window = "only the last T tokens are shown, from position 0; one forward per target"


def rows_past(
    policy: Beyond,
    *,
    table: Float[Tensor, "M D"],
    trained: int,
    index: Int64[Tensor, " T"],
    length: int,
) -> Float[Tensor, "T D"]:
    """Rows for `index`, some of which may lie at or past `trained`.

    Args:
        policy: any but `fresh`, which needs more rows: extend `table` and read it directly.
        table: M rows, of which the first `trained` were trained; the rest is never read.
        trained: T.
        index: position ids below `length`.
        length: n.

    Raises:
        ValueError: the policy has no row for these positions.
    """
    known = table[:trained]
    match policy:
        case Beyond.clamp:
            return F.embedding(index.clamp(max=trained - 1), known)
        case Beyond.wrap:
            return F.embedding(index % trained, known)
        case Beyond.interpolate:
            return _resample(known, index=index, length=max(length, trained))
        case Beyond.zero:
            return _replace_past(known, index=index, row=torch.zeros_like(known[0]))
        case Beyond.mean:
            return _replace_past(known, index=index, row=known.mean(dim=0))
        case Beyond.error | Beyond.window if length <= trained:
            return F.embedding(index, known)
        case _:
            raise ValueError(
                f"policy `{policy.name}` has no row for position {length - 1}; "
                f"the table has {trained} trained rows"
            )


def _replace_past(
    known: Float[Tensor, "M D"], *, index: Int64[Tensor, " T"], row: Float[Tensor, " D"]
) -> Float[Tensor, "T D"]:
    inside = F.embedding(index.clamp(max=len(known) - 1), known)
    return torch.where((index < len(known))[:, None], inside, row)


def _resample(
    known: Float[Tensor, "M D"], *, index: Int64[Tensor, " T"], length: int
) -> Float[Tensor, "T D"]:
    if length == 1:
        return F.embedding(index, known)
    place = index.double() * (len(known) - 1) / (length - 1)
    low = place.floor().long()
    high = (low + 1).clamp(max=len(known) - 1)
    share = (place - low).to(known.dtype)[:, None]
    return F.embedding(low, known).lerp(F.embedding(high, known), share)
