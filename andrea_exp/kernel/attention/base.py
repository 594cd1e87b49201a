"""The operation `attention`: softmax(q k^T / sqrt(H) + bias) v, causal or not."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from andrea_exp.kernel.backend import BackendConfig


@runtime_checkable
class AttentionOp(Protocol):
    """Scaled dot-product attention over one sequence length, differentiable in q, k, v and bias."""

    def __call__(
        self,
        query: Float[Tensor, "B N T H"],
        key: Float[Tensor, "B N T H"],
        value: Float[Tensor, "B N T H"],
        *,
        bias: Float[Tensor, "N T T"] | None,
        causal: bool,
        dropout: float,
    ) -> Float[Tensor, "B N T H"]:
        """Weighted values; `dropout` is the probability that one weight is dropped."""
        ...


@dataclass(kw_only=True, frozen=True)
class AttentionKernelConfig(BackendConfig, ABC):
    """A backend of `attention`."""

    @override
    @abstractmethod
    def build(self) -> AttentionOp:
        """The operation."""
