"""Token rows times a constant, as Vaswani et al. 2017 (arXiv:1706.03762), section 3.4."""

from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.component import above
from andrea_exp.embedding.base import Embedding, EmbeddingConfig, check_inputs
from andrea_exp.kernel.embedding.base import EmbeddingOp
from andrea_exp.kernel.embedding.sinusoid import Sinusoid
from andrea_exp.shapes import Sizes


@final
@dataclass(kw_only=True, frozen=True)
class ScaledConfig(EmbeddingConfig):
    """A token table whose rows are multiplied before the position rows are added."""

    multiplier: float | None = field(metadata=above(0))
    """Factor on every token row; null: sqrt(D), as in the paper. Initial rows keep `std`."""

    @override
    def build(self, *, sizes: Sizes, kernel: EmbeddingOp) -> "Scaled":
        multiplier = sizes.d_model**0.5 if self.multiplier is None else self.multiplier
        table = nn.Parameter(torch.empty(sizes.vocab, sizes.d_model))
        return Scaled(table, multiplier=multiplier, std=self.initial_std(sizes), kernel=kernel)


@final
class Scaled(Embedding):
    """A (V, D) matrix of token rows and a factor on them. A tied output uses the rows unscaled."""

    def __init__(
        self, table: nn.Parameter, *, multiplier: float, std: float, kernel: EmbeddingOp
    ) -> None:
        super().__init__()
        self.weight = table
        self._multiplier = multiplier
        self._std = std
        self._kernel = kernel

    @override
    def forward(
        self, ids: Int64[Tensor, "B T"], rows: Float[Tensor, "T D"] | Sinusoid | None
    ) -> Float[Tensor, "B T D"]:
        check_inputs(ids, rows, width=self.weight.shape[1])
        return self._kernel(ids, self.weight, rows, multiplier=self._multiplier)

    @override
    def scale(self) -> float:
        return self._multiplier * self._std

    @override
    def token_rows(self) -> Float[Tensor, "V E"]:
        return self.weight

    @override
    def entering(self, rows: Float[Tensor, "M E"]) -> Float[Tensor, "M D"]:
        return self._multiplier * rows

    @override
    def tied_features(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B T E"]:
        return hidden

    @override
    def initialise(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.weight, std=self._std, generator=generator)
