"""The operation `embedding`: token rows gathered by id, scaled, plus position rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int64
from torch import Tensor
from typing_extensions import override

from andrea_exp.kernel.backend import BackendConfig


@runtime_checkable
class EmbeddingOp(Protocol):
    """Computes multiplier * table[ids] + rows, differentiable in table and rows."""

    def __call__(
        self,
        ids: Int64[Tensor, "B T"],
        table: Float[Tensor, "V E"],
        rows: Float[Tensor, "T E"] | None,
        *,
        multiplier: float,
    ) -> Float[Tensor, "B T E"]:
        """One vector per id.

        Raises:
            ValueError: an id lies outside 0..V-1.
        """
        ...


@dataclass(kw_only=True, frozen=True)
class EmbeddingKernelConfig(BackendConfig, ABC):
    """A backend of `embedding`."""

    @override
    @abstractmethod
    def build(self) -> EmbeddingOp:
        """The operation."""
