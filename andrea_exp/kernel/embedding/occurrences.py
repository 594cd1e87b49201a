"""Where each id stands in a batch: what turns a sum over places into one over table rows."""

from typing import NamedTuple

import torch
from jaxtyping import Int64
from torch import Tensor


class Occurrences(NamedTuple):
    """Places 0..n-1 of a flattened batch, grouped by the id that stands there."""

    order: Int64[Tensor, " n"]
    """The places by id, and in order within an id."""
    starts: Int64[Tensor, " V+1"]
    """Those of id v are order[starts[v] : starts[v + 1]]."""


def occurrences(ids: Int64[Tensor, " n"], *, vocab: int) -> Occurrences:
    """Group the places of ids 0..vocab-1 by a stable sort."""
    # On a GPU the sort takes one pass per byte or so of what it sorts by.
    narrow = next(
        dtype
        for dtype in (torch.int16, torch.int32, torch.int64)
        if vocab <= torch.iinfo(dtype).max
    )
    by_id, order = ids.to(narrow).sort(stable=True)
    firsts = torch.arange(vocab + 1, dtype=narrow, device=ids.device)
    return Occurrences(order=order, starts=torch.searchsorted(by_id, firsts))
