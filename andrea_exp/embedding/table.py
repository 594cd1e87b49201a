"""The plain token table: row `id` of a (V, D) matrix, unscaled."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.embedding.base import Embedding, EmbeddingConfig, check_inputs
from andrea_exp.kernel.embedding.base import EmbeddingOp
from andrea_exp.kernel.embedding.sinusoid import Sinusoid
from andrea_exp.shapes import Sizes, check_size


@final
@dataclass(kw_only=True, frozen=True)
class TableConfig(EmbeddingConfig):
    """One row per token."""

    @override
    def build(self, *, sizes: Sizes, kernel: EmbeddingOp) -> "Table":
        return Table(
            vocab=sizes.vocab, width=sizes.d_model, std=self.initial_std(sizes), kernel=kernel
        )


@final
class Table(Embedding):
    """A (V, D) matrix of token rows."""

    def __init__(self, *, vocab: int, width: int, std: float, kernel: EmbeddingOp) -> None:
        super().__init__()
        check_size(vocab, name="vocab")
        check_size(width, name="width")
        self.weight = nn.Parameter(torch.empty(vocab, width))
        self._std = std
        self._kernel = kernel

    @override
    def forward(
        self, ids: Int64[Tensor, "B T"], rows: Float[Tensor, "T D"] | Sinusoid | None
    ) -> Float[Tensor, "B T D"]:
        check_inputs(ids, rows, width=self.weight.shape[1])
        return self._kernel(ids, self.weight, rows, multiplier=1.0)

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
