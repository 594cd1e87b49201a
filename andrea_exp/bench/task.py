"""What a composition asks of one operation, at its own sizes and at smaller ones."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Final

import torch

from andrea_exp.bench.example import Example
from andrea_exp.kernel.backend import Use
from andrea_exp.position.base import Position, Positions

CHECKED_NUMBERS: Final = 2**23
"""Most numbers of the largest intermediate result where a backend is checked: 64 MB in float64,
which a laptop computes in a second or two."""
ODD: Final = 63
"""A length that no block of a kernel divides."""


@dataclass(kw_only=True, frozen=True)
class Asked:
    """What the parts of one composition hand to the operations, beyond what `Use` says."""

    use: Use
    position: Position
    """On the device; its rows and its bias are what is added."""
    rows_added: bool
    """Whether position rows are added inside the operation `embedding`."""
    multiplier: float
    """On the token rows there."""
    token_width: int
    """Of the token table."""
    scored_width: int
    """Of the rows that score."""
    seed: int

    def first(self, length: int) -> Positions:
        """The first positions, where the model is."""
        return Positions.first(length, device=self.use.device)


class Task(ABC):
    """One operation. Each subclass is final."""

    operation: str
    """Its name, as in `conf/kernel/`."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked

    @property
    def use(self) -> Use:
        """The composition's own sizes."""
        return self.asked.use

    @abstractmethod
    def example(self, use: Use) -> Example:
        """Inputs of these sizes; the same numbers at every call."""

    @abstractmethod
    def intermediate(self, use: Use) -> int:
        """Numbers of the largest result, intermediate ones included, of the plainest algorithm."""

    def checked(self) -> list[Use]:
        """The sizes at which backends are checked: full width and vocabulary, and few tokens.

        Two sequences that are as long as CHECKED_NUMBERS allows; two of an odd length; one token.
        There is no dropout, which no two backends draw alike.
        """
        whole = replace(self.use, batch=min(self.use.batch, 2), dropout=0.0)
        longest = whole.length
        while longest > 1 and self.intermediate(replace(whole, length=longest)) > CHECKED_NUMBERS:
            longest = longest // 2 + 1 if longest > 2 else 1
        sizes = [
            replace(whole, length=longest),
            replace(whole, length=min(ODD, longest)),
            replace(whole, batch=1, length=1),
        ]
        return list(dict.fromkeys(sizes))


def halved(use: Use) -> bool:
    """Whether products are in bfloat16 by autocast, and parameters are not."""
    return use.dtype == torch.bfloat16
