"""How a backend is compared with the truth, whatever its operation."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from andrea_exp.bench.agreement import OUTPUT, deviations
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
        bias_learned=False,
        causal=True,
        dropout=0.0,
        compiled=False,
    )
    return replace(plain, **changes)


def skip_where_it_cannot_run(backend: BackendConfig, dtype: torch.dtype, **changes: Any) -> None:
    """Skip with the backend's own reasons."""
    reasons = backend.reasons(some_use(dtype=dtype, **changes))
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


@contextmanager
def poisoned() -> Generator[None]:
    """Memory that is asked for is full of NaN; where torch has a deterministic way, it takes it."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        assert torch.empty(3, device=DEVICE).isnan().all()
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def results(output: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Output, and the gradient of a fixed weighting of it in every input."""
    upstream = noise(*output.shape, seed=99, dtype=output.dtype)
    gradients = torch.autograd.grad(output, inputs, upstream)
    return [tensor.detach() for tensor in (output, *gradients)]


def errors(found: list[Tensor], true: list[Tensor]) -> list[float]:
    """Largest deviation of each result."""
    pairs = zip(found, true, strict=True)
    return [float((one.double() - other.double()).detach().abs().max()) for one, other in pairs]


def assert_as_exact_as_torch(
    found: list[Tensor],
    by_torch: list[Tensor],
    true: list[Tensor],
    *,
    precision: torch.dtype | None = None,
) -> None:
    """By the rule of `agreement`: an output and its gradients, torch's in the same precision.

    That is the output's own, unless autocast makes products narrower.
    """
    all_of = deviations(
        _named(found),
        _named(by_torch),
        _named(true),
        precision=precision or found[0].dtype,
        elsewhere={},
    )
    wrong = [str(deviation) for deviation in all_of if not deviation.allowed]
    assert not wrong, "; ".join(wrong)


def _named(found: list[Tensor]) -> dict[str, Tensor]:
    names = [OUTPUT, *(f"gradient {number}" for number in range(1, len(found)))]
    return dict(zip(names, found, strict=True))
