"""Token embedding: ids to vectors, with the position rows added inside one operation."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.component import OptionConfig, above
from andrea_exp.kernel.embedding.base import EmbeddingOp
from andrea_exp.kernel.embedding.sinusoid import Sinusoid
from andrea_exp.shapes import Sizes


@dataclass(kw_only=True, frozen=True)
class EmbeddingConfig(OptionConfig, ABC):
    """Configuration of one token embedding."""

    std: float | None = field(metadata=above(0))
    """Standard deviation of the initial token table; null: 1/sqrt(D)."""

    def initial_std(self, sizes: Sizes) -> float:
        """The standard deviation at these sizes."""
        return sizes.d_model**-0.5 if self.std is None else self.std

    @abstractmethod
    def build(self, *, sizes: Sizes, kernel: EmbeddingOp) -> "Embedding":
        """The embedding as a module."""


class Embedding(nn.Module, ABC):
    """Turns ids into vectors of width D. Each subclass is final."""

    @override
    @abstractmethod
    def forward(
        self, ids: Int64[Tensor, "B T"], rows: Float[Tensor, "T D"] | Sinusoid | None
    ) -> Float[Tensor, "B T D"]:
        """Token vectors plus position rows.

        Raises:
            TypeError: ids are not int64.
            ValueError: ids are not two-dimensional, one lies outside the table, or the rows have
                another length or width.
        """

    @abstractmethod
    def scale(self) -> float:
        """Initial root mean square of a token vector's features as they enter the sum."""

    @abstractmethod
    def token_rows(self) -> Float[Tensor, "V E"]:
        """The token table itself; a tied output scores with it."""

    @abstractmethod
    def entering(self, rows: Float[Tensor, "M E"]) -> Float[Tensor, "M D"]:
        """Rows of the token table as they enter the sum with the position rows."""

    @abstractmethod
    def tied_features(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B T E"]:
        """Hidden states brought to the width of `token_rows`, for a tied output."""

    @abstractmethod
    def initialise(self, generator: torch.Generator) -> None:
        """Draw the parameters from this generator alone."""


def check_inputs(ids: Tensor, rows: Tensor | Sinusoid | None, *, width: int) -> None:
    """Refuse what cannot be a batch of token ids, or rows that would not be one for each place.

    Raises:
        TypeError: ids are not int64.
        ValueError: ids are not of shape (B, T), or rows not of shape (T, width).
    """
    if ids.dtype != torch.int64:
        raise TypeError(f"token ids must be int64, got {ids.dtype}")
    if ids.ndim != 2:
        raise ValueError(f"token ids must have shape (B, T), got {tuple(ids.shape)}")
    # Without this, one row would serve every place, and one feature every feature.
    if rows is not None and rows.shape != (ids.shape[1], width):
        raise ValueError(
            f"position rows must have shape (T, D) = {(ids.shape[1], width)}, "
            f"got {tuple(rows.shape)}"
        )
