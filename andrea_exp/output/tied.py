"""The token table as output matrix, Press and Wolf 2017 (arXiv:1608.05859)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from andrea_exp.embedding.base import Embedding
from andrea_exp.output.base import Output, OutputConfig
from andrea_exp.shapes import Sizes


@final
@dataclass(kw_only=True, frozen=True)
class TiedConfig(OutputConfig):
    """No parameters of its own."""

    @override
    def initial_std(self, *, token_std: float) -> float:
        return token_std

    @override
    def build(self, *, sizes: Sizes, token_std: float) -> "Tied":
        return Tied()


@final
class Tied(Output):
    """Borrows the token table at every call, so that there is one storage and one name for it."""

    @override
    def features(
        self, hidden: Float[Tensor, "B T D"], *, embedding: Embedding
    ) -> Float[Tensor, "B T E"]:
        return embedding.tied_features(hidden)

    @override
    def rows(self, *, embedding: Embedding) -> Float[Tensor, "V E"]:
        return embedding.token_rows()

    @override
    def initialise(self, generator: torch.Generator) -> None:
        return
