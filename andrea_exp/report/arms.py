"""Which lines and rows an arm has: its declared policy past T, and those scored beside it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from andrea_exp.report.figure import Curve
from andrea_exp.report.format import multiple
from andrea_exp.report.palette import Style
from andrea_exp.report.table import Run, Table


@dataclass(kw_only=True, frozen=True)
class Policy:
    """One arm under one policy past the trained length."""

    arm: str
    beyond: str
    """What happens past T, as the rows of the lengths say it."""
    declared: bool
    """Whether it is the run's own policy."""
    style: Style
    rows: pl.DataFrame
    """The arm's lengths, all seeds: those up to T, which are the same under every policy, and
    those past T under this one."""

    @property
    def label(self) -> str:
        """The arm with its policy: what stands beside every number past T."""
        return f"{self.arm} · past T: {self.beyond}"

    def numbers(self, column: str, *, factor: float, protocol: str = "block") -> list[float | None]:
        """One value per seed; None where the length was refused or not measured."""
        chosen = self.at(factor=factor, protocol=protocol)
        return chosen.get_column(column).to_list()

    def at(self, *, factor: float, protocol: str = "block") -> pl.DataFrame:
        """The rows of one length."""
        return self.rows.filter(pl.col("factor") == factor, pl.col("protocol") == protocol)

    def refused(self, *, factor: float) -> bool:
        """Whether any seed refused this length."""
        return (self.at(factor=factor).get_column("status") == "refused").any()

    def curves(self, column: str, *, protocol: str) -> list[Curve]:
        """One curve over length per seed; a further policy's begins at T, where it departs."""
        chosen = self.rows.filter(
            pl.col("protocol") == protocol,
            pl.col(column).is_not_null(),
            pl.lit(self.declared) | (pl.col("factor") >= 1),
        )
        parts = chosen.partition_by("run", maintain_order=True)
        return [
            Curve(part.get_column("length").to_list(), part.get_column(column).to_list())
            for part in parts
        ]


def policies(table: Table) -> list[Policy]:
    """Every arm of the table under every policy that was scored for it, the declared one first."""
    return [policy for arm, runs in table.arms.items() for policy in _of_arm(table, arm, runs)]


def factors(table: Table) -> list[float]:
    """The lengths of the table in units of T, shortest first."""
    return sorted(table.lengths.get_column("factor").unique())


def column_head(table: Table, *, factor: float) -> str:
    """The head of a column of numbers at one length: tokens, where all runs share T."""
    if table.trained_length is None:
        return multiple(factor)
    return f"{factor * table.trained_length:g} = {multiple(factor)}".replace(
        " ", "\N{NO-BREAK SPACE}"
    )


def _of_arm(table: Table, arm: str, runs: Sequence[Run]) -> Iterator[Policy]:
    rows = table.lengths.filter(pl.col("arm") == arm)
    kinds: list[dict[str, Any]] = (
        rows.select("beyond", "declared")
        .unique(maintain_order=True)
        .sort("declared", descending=True, maintain_order=True)
        .to_dicts()
    )
    for kind in kinds:
        style = runs[0].style
        yield Policy(
            arm=arm,
            beyond=kind["beyond"],
            declared=kind["declared"],
            style=style if kind["declared"] else replace(style, hollow=True),
            rows=rows.filter(
                pl.col("declared") & (pl.col("factor") <= 1)
                | (pl.col("beyond") == kind["beyond"]) & (pl.col("factor") > 1)
            ),
        )
