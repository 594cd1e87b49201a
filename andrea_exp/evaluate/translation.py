"""Translation invariance: does the product of two rows depend on their distance alone?

For each lag m, the variance over p of <e_p, e_(p+m)>, over the variance of the means of all lags.
0: the product is a function of the lag. Large: where a pair stands matters more than how far apart
its rows are. Rows that are independent draws give about the number of pairs to a lag.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor


def translation_ratios(rows: Float64[Tensor, "M D"], *, lags: Sequence[int]) -> list[float] | None:
    """The ratio at each of these lags, each of which is from 1 to M-1.

    None where the means of the lags do not differ, beyond rounding: there is nothing to compare
    with, as with a single lag or equal rows.
    """
    products = [(rows[:-lag] * rows[lag:]).sum(dim=1) for lag in lags]
    means = torch.stack([product.mean() for product in products])
    scale = rows.square().sum(dim=1).mean()
    between = means.var(correction=0)
    if between <= (1e-12 * scale).square():
        return None
    return [float(product.var(correction=0) / between) for product in products]
