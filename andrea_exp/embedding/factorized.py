"""A narrow token table and a projection to D, Lan et al. 2020 (ALBERT, arXiv:1909.11942), 3.1."""

from dataclasses import dataclass, field
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.component import at_least
from andrea_exp.embedding.base import Embedding, EmbeddingConfig, check_inputs
from andrea_exp.kernel.embedding.base import EmbeddingOp
from andrea_exp.kernel.embedding.sinusoid import Sinusoid, written
from andrea_exp.shapes import Sizes


@final
@dataclass(kw_only=True, frozen=True)
class FactorizedConfig(EmbeddingConfig):
    """V rows of `rank` features, and one rank x D matrix."""

    rank: int = field(metadata=at_least(1))
    """E, features of a token row; below D it saves parameters."""

    @override
    def build(self, *, sizes: Sizes, kernel: EmbeddingOp) -> "Factorized":
        if self.rank >= sizes.d_model:
            raise ValueError(
                f"embedding.rank={self.rank} must be below model.d_model={sizes.d_model}; "
                "at full width use embedding=table"
            )
        return Factorized(
            table=nn.Parameter(torch.empty(sizes.vocab, self.rank)),
            projection=nn.Parameter(torch.empty(sizes.d_model, self.rank)),
            std=self.initial_std(sizes),
            kernel=kernel,
        )


@final
class Factorized(Embedding):
    """projection(token row) + position row. A tied output goes the same way back."""

    def __init__(
        self, *, table: nn.Parameter, projection: nn.Parameter, std: float, kernel: EmbeddingOp
    ) -> None:
        super().__init__()
        self.weight = table
        self.projection = projection
        self._std = std
        self._kernel = kernel

    @override
    def forward(
        self, ids: Int64[Tensor, "B T"], rows: Float[Tensor, "T D"] | Sinusoid | None
    ) -> Float[Tensor, "B T D"]:
        check_inputs(ids, rows, width=len(self.projection))
        narrow = self._kernel(ids, self.weight, None, multiplier=1.0)
        # Autocast halves the product; the residual stream starts in full precision in every arm.
        vectors = F.linear(narrow, self.projection).to(narrow.dtype)
        return vectors if rows is None else vectors + written(rows, dtype=vectors.dtype)

    @override
    def scale(self) -> float:
        return self._std

    @override
    def token_rows(self) -> Float[Tensor, "V E"]:
        return self.weight

    @override
    def entering(self, rows: Float[Tensor, "M E"]) -> Float[Tensor, "M D"]:
        return F.linear(rows, self.projection)

    @override
    def tied_features(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B T E"]:
        return hidden @ self.projection

    @override
    def initialise(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.weight, std=self._std, generator=generator)
        rank = self.weight.shape[1]
        nn.init.normal_(self.projection, std=rank**-0.5, generator=generator)
