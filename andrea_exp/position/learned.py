"""A trained table with one row per position, as in GPT-2 (Radford et al. 2019)."""

from dataclasses import dataclass, field
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.component import above, at_least
from andrea_exp.position.base import Position, PositionConfig, Positions, refusal
from andrea_exp.position.beyond import Beyond, rows_past
from andrea_exp.seeding import torch_generator
from andrea_exp.shapes import Sizes, check_size


@final
@dataclass(kw_only=True, frozen=True)
class LearnedConfig(PositionConfig):
    """A learned table. Rows T and beyond of a longer one are never trained."""

    rows: int | None = field(metadata=at_least(1))
    """M, rows of the table; null: the trained length. Fewer than that is refused."""
    beyond: Beyond
    """What happens past the trained length."""
    std: float | None = field(metadata=above(0))
    """Standard deviation of the initial rows; null: 1/sqrt(D)."""

    @override
    def build(self, *, sizes: Sizes, token_scale: float) -> "Learned":
        rows = sizes.context if self.rows is None else self.rows
        if rows < sizes.context:
            raise ValueError(
                f"position.rows={rows} is shorter than the trained length model.context="
                f"{sizes.context}; give it at least as many rows, or null"
            )
        std = sizes.d_model**-0.5 if self.std is None else self.std
        return Learned(
            rows=rows, width=sizes.d_model, trained=sizes.context, std=std, beyond=self.beyond
        )


@final
class Learned(Position):
    """M rows of width D, of which the first T are trained."""

    def __init__(self, *, rows: int, width: int, trained: int, std: float, beyond: Beyond) -> None:
        super().__init__()
        check_size(rows, name="rows")
        check_size(width, name="width")
        if not 1 <= trained <= rows:
            raise ValueError(f"trained must be from 1 to rows={rows}, got {trained}")
        self.weight = nn.Parameter(torch.empty(rows, width))
        self._trained = trained
        self._std = std
        self._beyond = beyond
        self._fresh_seed: int | None = None

    @override
    def rows(self, positions: Positions, beyond: Beyond | None = None) -> Float[Tensor, "T D"]:
        policy = self._beyond if beyond is None else beyond
        reason = refusal(self, length=positions.length, beyond=policy)
        if reason is not None:
            raise ValueError(reason)
        if policy is Beyond.fresh:
            return F.embedding(positions.index, self._at_least(positions.length))
        return rows_past(
            policy,
            table=self.weight,
            trained=self._trained,
            index=positions.index,
            length=positions.length,
        )

    @override
    def turn(
        self, vectors: Float[Tensor, "B N T H"], positions: Positions
    ) -> Float[Tensor, "B N T H"]:
        return vectors

    @override
    def bias(self, positions: Positions) -> None:
        return None

    @override
    def table(self) -> Float[Tensor, "M D"]:
        return self.weight

    @override
    def trained_length(self) -> int:
        return self._trained

    @override
    def past_label(self) -> str:
        return self._beyond.name

    @property
    @override
    def acts_in_attention(self) -> bool:
        return False

    @override
    def initialise(self, generator: torch.Generator) -> None:
        self._fresh_seed = generator.initial_seed()
        # Two draws, so that the trained rows start alike whatever the length of the table.
        for part in (self.weight[: self._trained], self.weight[self._trained :]):
            nn.init.normal_(part, std=self._std, generator=generator)

    def _at_least(self, length: int) -> Float[Tensor, "M D"]:
        """The table, followed by as many untrained rows as `length` asks for.

        Row M + k is the same whatever the length: each is drawn from a generator of its own.
        """
        missing = range(len(self.weight), length)
        if not missing:
            return self.weight
        if self._fresh_seed is None:
            raise RuntimeError("untrained rows are drawn from the seed: call `initialise` first")
        width = self.weight.shape[1]
        drawn = [
            torch.randn(width, generator=torch_generator(self._fresh_seed, f"fresh row {row}"))
            for row in missing
        ]
        return torch.cat([self.weight, (self._std * torch.stack(drawn)).to(self.weight)])
