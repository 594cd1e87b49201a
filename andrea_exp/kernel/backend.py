"""What every backend of every operation can be asked before it runs."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from andrea_exp.component import OptionConfig


@dataclass(frozen=True, kw_only=True)
class Use:
    """What a model will ask of its backends, as far as that decides whether and how they run."""

    device: torch.device
    dtype: torch.dtype
    """Of the matrix products; parameters are float32 whatever it is, unless it is float64."""
    batch: int
    """B: sequences at a time."""
    length: int
    """T: tokens of one."""
    width: int
    """D: features of a token vector."""
    heads: int
    """N: attention heads; each has width / heads features."""
    vocab: int
    """V: rows of the token table."""
    biased: bool
    """Whether something is added to the attention scores."""
    bias_learned: bool
    """Whether that has a gradient."""
    causal: bool
    dropout: float
    """Probability that an attention weight is dropped in training."""
    compiled: bool
    """Whether torch.compile wraps the step."""


@dataclass(kw_only=True, frozen=True)
class BackendConfig(OptionConfig, ABC):
    """One implementation of one operation. It never hands the work to another one."""

    @abstractmethod
    def reasons(self, use: Use) -> list[str]:
        """Every reason why it cannot serve this use on this machine; empty if it can."""

    @abstractmethod
    def runs_as(self, use: Use) -> str:
        """What computes, as a run records it: the name, and in brackets what the name leaves open.

        Only for a use to which there are no `reasons`.
        """

    @abstractmethod
    def build(self) -> Callable[..., Tensor]:
        """The operation, as a plain function of tensors."""
