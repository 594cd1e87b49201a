"""In which precision numbers are computed, given the one in which they are stored."""

import torch
from jaxtyping import Float
from torch import Tensor


def exact(dtype: torch.dtype) -> torch.dtype:
    """That of losses and of sums: float32, or float64 where it is that already."""
    return torch.promote_types(dtype, torch.float32)


def as_autocast(factor: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """A factor of a matrix product as autocast asks for it; float64 stays float64, as by torch."""
    device = factor.device.type
    asked = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    if not asked or factor.dtype == torch.float64:
        return factor
    return factor.to(torch.get_autocast_dtype(device))
