"""The output: which V rows score a hidden state."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from andrea_exp.component import OptionConfig
from andrea_exp.embedding.base import Embedding
from andrea_exp.shapes import Sizes


@dataclass(kw_only=True, frozen=True)
class OutputConfig(OptionConfig, ABC):
    """Configuration of one output."""

    @abstractmethod
    def initial_std(self, *, token_std: float) -> float:
        """Standard deviation of the rows that score, before training.

        Args:
            token_std: standard deviation of the initial token table.
        """

    @abstractmethod
    def build(self, *, sizes: Sizes, token_std: float) -> "Output":
        """The output as a module.

        Args:
            sizes: the model's sizes.
            token_std: standard deviation of the initial token table.
        """


class Output(nn.Module, ABC):
    """Scores are features times rows, without a bias. Each subclass is final."""

    @abstractmethod
    def features(
        self, hidden: Float[Tensor, "B T D"], *, embedding: Embedding
    ) -> Float[Tensor, "B T E"]:
        """What is scored, brought to the width of the rows."""

    @abstractmethod
    def rows(self, *, embedding: Embedding) -> Float[Tensor, "V E"]:
        """The V rows that it is scored against."""

    @abstractmethod
    def initialise(self, generator: torch.Generator) -> None:
        """Draw the parameters, if any, from this generator alone."""
