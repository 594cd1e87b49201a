"""What a position scheme answers: three questions of the model and three about itself."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from andrea_exp.component import OptionConfig
from andrea_exp.kernel.embedding.sinusoid import Sinusoid
from andrea_exp.position.beyond import Beyond
from andrea_exp.shapes import Sizes, check_size


@dataclass(frozen=True)
class Positions:
    """Where the tokens of a batch stand; the same for every sequence of the batch."""

    index: Int64[Tensor, " T"]
    """Position id of each token, below `length`."""
    length: int
    """Positions of the whole sequence that these are taken from, at least T. Known without reading
    the tensor, it decides whether a table is long enough and how far `interpolate` stretches."""

    @classmethod
    def first(cls, count: int, *, length: int | None = None, device: torch.device) -> "Positions":
        """Positions 0..count-1 of a sequence of `length` (default `count`).

        Raises:
            ValueError: `count` is below 1.
        """
        check_size(count, name="the number of positions")
        index = torch.arange(count, device=device)
        return cls(index=index, length=count if length is None else length)


@dataclass(kw_only=True, frozen=True)
class PositionConfig(OptionConfig, ABC):
    """Configuration of one position scheme."""

    @abstractmethod
    def build(self, *, sizes: Sizes, token_scale: float) -> "Position":
        """The scheme as a module.

        Args:
            sizes: the model's sizes.
            token_scale: initial root mean square of a token vector's features as they enter the
                sum, for schemes that match it.

        Raises:
            ValueError: the scheme cannot work at these sizes.
        """


class Position(nn.Module, ABC):
    """A position scheme. Each subclass is final and answers every question itself."""

    @abstractmethod
    def rows(
        self, positions: Positions, beyond: Beyond | None = None
    ) -> Float[Tensor, "T D"] | Sinusoid | None:
        """Rows that are added to the token vectors, or None; `written` gives them as a tensor.

        `beyond` replaces the declared policy past the trained length; it concerns schemes with
        trained rows only.

        Raises:
            ValueError: the policy refuses this length; the text is that of `refusal`.
        """

    @abstractmethod
    def turn(
        self, vectors: Float[Tensor, "B N T H"], positions: Positions
    ) -> Float[Tensor, "B N T H"]:
        """Queries or keys, turned by their position."""

    @abstractmethod
    def bias(self, positions: Positions) -> Float[Tensor, "N T T"] | None:
        """What is added to the scores (head, query, key) before the softmax, or None.

        The same for every layer. The causal mask is not part of it.
        """

    @abstractmethod
    def table(self) -> Float[Tensor, "M D"] | None:
        """The rows of the scheme's own table, or None; trained or fixed."""

    @abstractmethod
    def trained_length(self) -> int | None:
        """How many positions own trained parameters; None if no parameter belongs to one position.

        Policies past that length apply to a scheme exactly when this is a number.
        """

    @abstractmethod
    def past_label(self) -> str:
        """What happens past the trained length by itself, in a word or two for labels."""

    @property
    @abstractmethod
    def acts_in_attention(self) -> bool:
        """Whether `turn` or `bias` does anything."""

    @abstractmethod
    def initialise(self, generator: torch.Generator) -> None:
        """Draw the parameters, if any, from this generator alone."""


def refusal(position: Position, *, length: int, beyond: Beyond | None = None) -> str | None:
    """Why a scheme cannot serve sequences of `length` tokens, or None if it can."""
    trained = position.trained_length()
    if trained is None or length <= trained:
        return None
    scheme = type(position).__module__.rpartition(".")[2]
    policy = beyond.name if beyond else position.past_label()
    if policy != Beyond.error.name:
        return None
    others = ", ".join(other.name for other in Beyond if other is not Beyond.error)
    return (
        f"a sequence of {length} exceeds the {trained} trained positions of `{scheme}`; "
        f"shorten it, or choose a policy with position.beyond ({others})"
    )
