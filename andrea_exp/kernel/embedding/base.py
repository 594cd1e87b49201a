"""The operation `embedding`: token rows gathered by id, scaled, plus position rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from typing_extensions import override

from andrea_exp.kernel.backend import BackendConfig
from andrea_exp.kernel.embedding.sinusoid import Sinusoid


@runtime_checkable
class EmbeddingOp(Protocol):
    """Computes multiplier * table[ids] + rows, differentiable in table and rows."""

    def __call__(
        self,
        ids: Int64[Tensor, "B T"],
        table: Float[Tensor, "V E"],
        rows: Float[Tensor, "T E"] | Sinusoid | None,
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


def check_range(ids: Int64[Tensor, "B T"], *, vocab: int) -> None:
    """Name the range of ids on the CPU; a GPU's own assertion stops a wrong id there.

    Raises:
        TypeError: ids are not int64.
        ValueError: an id lies outside 0..vocab-1.
    """
    if ids.dtype != torch.int64:  # kernels would read other numbers
        raise TypeError(f"token ids must be int64, got {ids.dtype}")
    if ids.device.type != "cpu" or torch.compiler.is_compiling() or ids.numel() == 0:
        return
    low, high = (int(end) for end in torch.aminmax(ids))
    if low < 0 or high >= vocab:
        wrong = low if low < 0 else high
        raise ValueError(f"token id {wrong} is outside 0..{vocab - 1}, the rows of the token table")
