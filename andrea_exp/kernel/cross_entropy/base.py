"""The operation `cross_entropy`: output projection and loss of each target in one step."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int64
from torch import Tensor
from typing_extensions import override

from andrea_exp.kernel.backend import BackendConfig


@runtime_checkable
class CrossEntropyOp(Protocol):
    """-log softmax(features weight^T) at each target, differentiable in features and weight."""

    def __call__(
        self,
        features: Float[Tensor, "R E"],
        weight: Float[Tensor, "V E"],
        targets: Int64[Tensor, " R"],
    ) -> Float[Tensor, " R"]:
        """Loss of each of R targets in nats, in float32 or, for float64 features, in float64.

        Raises:
            ValueError: a target lies outside 0..V-1. A GPU stops at an assertion of its own.
        """
        ...


@dataclass(kw_only=True, frozen=True)
class CrossEntropyKernelConfig(BackendConfig, ABC):
    """A backend of `cross_entropy`."""

    @override
    @abstractmethod
    def build(self) -> CrossEntropyOp:
        """The operation."""
