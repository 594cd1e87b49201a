"""Holm's step-down correction for the claims of one family.

Source: Holm 1979, A simple sequentially rejective multiple test procedure.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def adjusted(p: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p of each claim: it is rejected at a family-wise level if this is at most that.

    Args:
        p: the claims of a family along the last axis; 1 for one that could not be tested.
    """
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, axis=-1, kind="stable")
    size = values.shape[-1]
    stepped = np.take_along_axis(values, order, axis=-1) * np.arange(size, 0, -1)
    raised = np.minimum(np.maximum.accumulate(stepped, axis=-1), 1.0)
    result = np.empty_like(values)
    np.put_along_axis(result, order, raised, axis=-1)
    return result


def levels(p: ArrayLike, *, alpha: float) -> NDArray[np.float64]:
    """The level at which the procedure tests each claim of one family.

    A two-sided interval of coverage 1 - level leaves out the hypothesis exactly if the claim is
    rejected: claims after the first that stands are tested as that one is.

    Args:
        p: of one family, a single axis.
        alpha: family-wise level.
    """
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    size = len(values)
    result = np.empty(size)
    level = alpha / size
    stopped = False
    for rank, index in enumerate(order):
        if not stopped:
            level = alpha / (size - rank)
            stopped = bool(values[index] > level)
        result[index] = level
    return result
