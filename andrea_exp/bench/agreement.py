"""When a backend counts as correct: the one rule, for this command and for tests.

A result, the output or a gradient, may be off from the truth in float64 by twice what the reference
is off in the same precision, plus one rounding unit of the result's scale: the reference may be
exact by luck where another order of sums is not. Of few numbers that is often so; what it is off
elsewhere, in units of the scale, counts if it is more.

The scale is the largest magnitude of the true result. Of a result that is zero but for rounding,
such as the gradient of a query that sees a single key, it is the norm of the output, since sums of
that size cancel there.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor
from typing_extensions import override

OUTPUT: Final = "output"
"""Name of the result that is no gradient."""
_ZERO: Final = 1e-8
"""Of the output's norm: below it a true result is zero, and float64 has rounded."""


@dataclass(kw_only=True, frozen=True)
class Deviation:
    """How far one result is from the truth, and how far it may be."""

    result: str
    error: float
    """Largest deviation; not finite where a result is not, or has another shape or type."""
    limit: float

    @property
    def allowed(self) -> bool:
        """Whether the result counts as correct."""
        return self.error <= self.limit

    @property
    def finite_error(self) -> float | None:
        """The error, as a file can hold it."""
        return self.error if math.isfinite(self.error) else None

    @property
    def share(self) -> float:
        """Error in units of the limit."""
        if not math.isfinite(self.error):
            return math.inf
        return self.error / self.limit if self.limit else (math.inf if self.error else 0.0)

    @override
    def __str__(self) -> str:
        """In a sentence."""
        if not math.isfinite(self.error):
            return f"{self.result}: not finite, or of another shape or type"
        return f"{self.result}: off by {self.error:.2g}, where {self.limit:.2g} is allowed"


def deviations(
    found: Mapping[str, Tensor],
    reference: Mapping[str, Tensor],
    true: Mapping[str, Tensor],
    *,
    precision: torch.dtype,
    elsewhere: Mapping[str, float],
) -> list[Deviation]:
    """The rule applied to every result.

    Args:
        found: of the backend, `output` among them.
        reference: of the reference, of the same inputs in the same precision.
        true: of the reference in float64.
        precision: of the computation; its `eps` is the rounding unit.
        elsewhere: what the reference is off on other inputs, as `shares` tells it; may be empty.
    """
    unit, scales, own = torch.finfo(precision).eps, _scales(true), shares(reference, true)
    return [
        Deviation(
            result=name,
            error=_error(found[name], reference[name], true[name]),
            limit=(2 * max(own[name], elsewhere.get(name, 0.0)) + unit) * scales[name],
        )
        for name in true
    ]


def shares(reference: Mapping[str, Tensor], true: Mapping[str, Tensor]) -> dict[str, float]:
    """What each result of the reference is off, in units of its scale."""
    return {
        name: _distance(reference[name], true[name]) / scale if scale else 0.0
        for name, scale in _scales(true).items()
    }


def _error(found: Tensor, reference: Tensor, true: Tensor) -> float:
    alike = found.shape == true.shape and found.dtype == reference.dtype
    return _distance(found, true) if alike else math.inf


def _scales(true: Mapping[str, Tensor]) -> dict[str, float]:
    norm = float(true[OUTPUT].detach().norm())
    sizes = {name: _size(tensor) for name, tensor in true.items()}
    return {name: size if size > _ZERO * norm else norm for name, size in sizes.items()}


def _distance(one: Tensor, other: Tensor) -> float:
    return _size(one.double() - other.double())


def _size(tensor: Tensor) -> float:
    return float(tensor.detach().abs().max())
