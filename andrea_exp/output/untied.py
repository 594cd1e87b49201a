"""An output matrix of its own."""

from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.component import above
from andrea_exp.embedding.base import Embedding
from andrea_exp.output.base import Output, OutputConfig
from andrea_exp.shapes import Sizes


@final
@dataclass(kw_only=True, frozen=True)
class UntiedConfig(OutputConfig):
    """V x D further parameters."""

    std: float | None = field(metadata=above(0))
    """Standard deviation of the initial matrix; null: that of the token table, so
    that tied and untied scores start alike."""

    @override
    def initial_std(self, *, token_std: float) -> float:
        return token_std if self.std is None else self.std

    @override
    def build(self, *, sizes: Sizes, token_std: float) -> "Untied":
        std = self.initial_std(token_std=token_std)
        return Untied(vocab=sizes.vocab, width=sizes.d_model, std=std)


@final
class Untied(Output):
    """A (V, D) matrix that only the output side reads."""

    def __init__(self, *, vocab: int, width: int, std: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab, width))
        self._std = std

    @override
    def features(
        self, hidden: Float[Tensor, "B T D"], *, embedding: Embedding
    ) -> Float[Tensor, "B T E"]:
        return hidden

    @override
    def rows(self, *, embedding: Embedding) -> Float[Tensor, "V E"]:
        return self.weight

    @override
    def initialise(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.weight, std=self._std, generator=generator)
