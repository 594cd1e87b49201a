"""A token table whose sum with the position rows is normalised, as microGPT does."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.embedding.base import Embedding, EmbeddingConfig, check_inputs
from andrea_exp.kernel.embedding.base import EmbeddingOp
from andrea_exp.kernel.embedding.sinusoid import Sinusoid
from andrea_exp.norm import Norm, NormConfig
from andrea_exp.shapes import Sizes


@final
@dataclass(kw_only=True, frozen=True)
class NormedConfig(EmbeddingConfig):
    """A token table and the norm that follows the sum."""

    norm: NormConfig

    @override
    def build(self, *, sizes: Sizes, kernel: EmbeddingOp) -> "Normed":
        table = nn.Parameter(torch.empty(sizes.vocab, sizes.d_model))
        norm = self.norm.build(sizes.d_model)
        return Normed(table, norm=norm, std=self.initial_std(sizes), kernel=kernel)


@final
class Normed(Embedding):
    """norm(token row + position row)."""

    def __init__(self, table: nn.Parameter, *, norm: Norm, std: float, kernel: EmbeddingOp) -> None:
        super().__init__()
        self.weight = table
        self.norm = norm
        self._std = std
        self._kernel = kernel

    @override
    def forward(
        self, ids: Int64[Tensor, "B T"], rows: Float[Tensor, "T D"] | Sinusoid | None
    ) -> Float[Tensor, "B T D"]:
        check_inputs(ids, rows, width=self.weight.shape[1])
        return self.norm(self._kernel(ids, self.weight, rows, multiplier=1.0))

    @override
    def scale(self) -> float:
        return self._std

    @override
    def token_rows(self) -> Float[Tensor, "V E"]:
        return self.weight

    @override
    def entering(self, rows: Float[Tensor, "M E"]) -> Float[Tensor, "M D"]:
        return rows

    @override
    def tied_features(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B T E"]:
        return hidden

    @override
    def initialise(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.weight, std=self._std, generator=generator)
        self.norm.initialise()
