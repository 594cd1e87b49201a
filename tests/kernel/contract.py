"""How a backend is compared with the truth, whatever its operation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from andrea_exp.kernel.backend import BackendConfig, Use

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SIZES = [1, 63, 111, 128]


def some_use(**changes: Any) -> Use:
    """A small use, on the device of these tests."""
    plain = Use(
        device=DEVICE,
        dtype=torch.float32,
        batch=2,
        length=128,
        width=24,
        heads=3,
        vocab=19,
        biased=False,
        causal=True,
        dropout=0.0,
        compiled=False,
    )
    return replace(plain, **changes)


def skip_where_it_cannot_run(backend: BackendConfig, dtype: torch.dtype) -> None:
    """Skip with the backend's own reasons."""
    reasons = backend.reasons(some_use(dtype=dtype))
    if reasons:
        pytest.skip("; ".join(reasons))


def noise(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Values that float16 and bfloat16 hold exactly, so that every precision starts alike."""
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return drawn.bfloat16().to(device=DEVICE, dtype=dtype)


def strided(tensor: Tensor) -> Tensor:
    """The same values, not contiguous in memory."""
    between = float("nan") if tensor.is_floating_point() else -1
    return torch.stack([tensor, torch.full_like(tensor, between)], dim=-1)[..., 0]


def results(output: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Output, and the gradient of a fixed weighting of it in every input, as float64."""
    upstream = noise(*output.shape, seed=99, dtype=output.dtype)
    gradients = torch.autograd.grad(output, inputs, upstream)
    return [tensor.detach().double() for tensor in (output, *gradients)]


def errors(found: list[Tensor], true: list[Tensor]) -> list[float]:
    """Largest deviation of each result."""
    pairs = zip(found, true, strict=True)
    return [float((one - other).detach().abs().max()) for one, other in pairs]


def assert_as_exact_as_torch(
    found: list[Tensor], by_torch: list[Tensor], true: list[Tensor], *, unit: float = 1e-12
) -> None:
    """err(backend, float64) <= 2 err(torch in the same precision, float64) + unit of the scale.

    Args:
        found: the backend's results.
        by_torch: torch's, in the same precision.
        true: those in float64.
        unit: of rounding, in which torch may be exact by luck where another order of sums is not.
    """
    scale = [float(tensor.abs().max()) for tensor in true]
    limits = [2 * e + unit * s for e, s in zip(errors(by_torch, true), scale, strict=True)]
    for index, (error, limit) in enumerate(zip(errors(found, true), limits, strict=True)):
        assert error <= limit, f"result {index}: {error} exceeds {limit}"
