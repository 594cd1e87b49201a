"""Norms, dot products and cosines of token rows, before and after training; in float64.

Rows that are drawn independently are nearly orthogonal already: their cosine has mean 0 and a
standard deviation of 1/sqrt(E). So a small cosine after training says nothing, and only its rise
from init does. One pair alone can fall by chance where its class rises; where the data know classes
of words, the mean over all pairs inside a class, minus that over pairs across classes, stands
beside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from andrea_exp.data.base import Contrast, Data
from andrea_exp.data.naming import label_of
from andrea_exp.evaluate.chosen import Chosen
from andrea_exp.evaluate.nearest import Neighbour, neighbours, token_tables
from andrea_exp.model.decoder import Decoder


@dataclass(kw_only=True, frozen=True)
class Products:
    """Two rows."""

    first_norm: float
    second_norm: float
    dot: float
    cosine: float | None
    """None if a row is zero."""


@dataclass(kw_only=True, frozen=True)
class Pair:
    """Two tokens."""

    first: str
    second: str
    init: Products
    trained: Products


@dataclass(kw_only=True, frozen=True)
class ClassCosines:
    """A class of words among itself and against others; zero rows are left out."""

    within: float
    """Mean cosine of two different words of the class."""
    across: float
    """Mean cosine of a word of the class and one of any other."""
    to: dict[str, float]
    """The same by class."""
    difference: float
    """within - across."""


@dataclass(kw_only=True, frozen=True)
class ClassContrast:
    """Whether words that are used alike have come to lie together."""

    name: str
    init: ClassCosines
    trained: ClassCosines
    rise: float
    """Difference after training minus that at init."""


@dataclass(kw_only=True, frozen=True)
class Neighbours:
    """What lies nearest to one token after training."""

    token: str
    nearest: list[Neighbour]


@dataclass(kw_only=True, frozen=True)
class TableGeometry:
    """One table of token rows."""

    random_cosine_sd: float
    """1/sqrt(E): standard deviation of the cosine of two independent normal rows of its width."""
    pairs: list[Pair]
    contrast: ClassContrast | None
    """None for data that know no classes of words."""
    neighbours: list[Neighbours]
    """Of every token of the pairs."""


@dataclass(kw_only=True, frozen=True)
class Geometry:
    """Token rows on the side of the input, and on that of the output."""

    tied: bool
    """Whether both sides read one table."""
    input: TableGeometry
    output: TableGeometry | None
    """None if tied: its rows are those of the input."""


class Rows(NamedTuple):
    """A copy of some rows of a table, on the CPU."""

    place: dict[int, int]
    """Where the row of an id stands."""
    values: Float64[Tensor, "K E"]

    def of(self, tokens: Sequence[int]) -> Float64[Tensor, "J E"]:
        """Rows of these tokens."""
        return self.values[[self.place[token] for token in tokens]]


def chosen_rows(model: Decoder, tokens: Sequence[int]) -> dict[str, Rows]:
    """Copies of the rows of these tokens as they are now, by table (see `token_tables`)."""
    place = {token: index for index, token in enumerate(tokens)}
    return {
        name: Rows(place, table[list(tokens)].double().cpu())
        for name, table in token_tables(model).items()
    }


def geometry(
    model: Decoder, data: Data, *, looked_at: Chosen, init: dict[str, Rows], num_neighbours: int
) -> Geometry | None:
    """Measure both tables of a trained model.

    Args:
        model: after training.
        data: for the names of its tokens.
        looked_at: which tokens.
        init: `chosen_rows` of them from before the training.
        num_neighbours: how many neighbours each token is given.

    Returns:
        None if there is nothing to look at.
    """
    if not looked_at.tokens:
        return None
    trained, tables = chosen_rows(model, looked_at.tokens), token_tables(model)
    found = {
        name: TableGeometry(
            random_cosine_sd=table.shape[1] ** -0.5,
            pairs=[
                _pair(pair, data=data, init=init[name], trained=trained[name])
                for pair in looked_at.pairs
            ],
            contrast=_contrast(looked_at.contrast, init=init[name], trained=trained[name]),
            neighbours=[
                Neighbours(
                    token=label_of(data, token),
                    nearest=neighbours(table, token, count=num_neighbours, data=data),
                )
                for token in looked_at.shown
            ],
        )
        for name, table in tables.items()
    }
    return Geometry(tied="output" not in found, input=found["input"], output=found.get("output"))


def products(rows: Float64[Tensor, "2 E"]) -> Products:
    """Two rows, multiplied."""
    first, second = rows.norm(dim=1).tolist()
    dot = float(rows[0] @ rows[1])
    both = first * second
    return Products(
        first_norm=first, second_norm=second, dot=dot, cosine=dot / both if both > 0 else None
    )


def class_cosines(rows: Rows, contrast: Contrast) -> ClassCosines | None:
    """The class measure; None if zero rows leave a mean without any pair."""
    own = _directions(rows.of(contrast.ids))
    others = {name: _directions(rows.of(ids)) for name, ids in contrast.others.items()}
    inside = torch.triu_indices(len(own), len(own), offset=1)
    within = (own @ own.T)[inside[0], inside[1]]
    across = {name: own @ other.T for name, other in others.items()}
    if not all(each.numel() for each in (within, *across.values())):
        return None
    inner = float(within.mean())
    outer = float(torch.cat([each.flatten() for each in across.values()]).mean())
    return ClassCosines(
        within=inner,
        across=outer,
        to={name: float(each.mean()) for name, each in across.items()},
        difference=inner - outer,
    )


def _pair(pair: tuple[int, int], *, data: Data, init: Rows, trained: Rows) -> Pair:
    return Pair(
        first=label_of(data, pair[0]),
        second=label_of(data, pair[1]),
        init=products(init.of(pair)),
        trained=products(trained.of(pair)),
    )


def _contrast(contrast: Contrast | None, *, init: Rows, trained: Rows) -> ClassContrast | None:
    if contrast is None:
        return None
    before, after = class_cosines(init, contrast), class_cosines(trained, contrast)
    if before is None or after is None:
        return None
    return ClassContrast(
        name=contrast.name,
        init=before,
        trained=after,
        rise=after.difference - before.difference,
    )


def _directions(rows: Float64[Tensor, "K E"]) -> Float64[Tensor, "J E"]:
    """Rows of length 1; zero rows are left out."""
    norms = rows.norm(dim=1, keepdim=True)
    return (rows / norms)[norms.squeeze(1) > 0]
