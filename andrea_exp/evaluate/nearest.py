"""The tokens whose rows point most nearly the same way as the row of one token."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from andrea_exp.data.base import Data
from andrea_exp.data.naming import label_of
from andrea_exp.evaluate.ledger import tied_shared
from andrea_exp.model.decoder import Decoder


@dataclass(kw_only=True, frozen=True)
class Neighbour:
    """One near token."""

    token: str
    """Its label."""
    cosine: float


def token_tables(model: Decoder) -> dict[str, Float[Tensor, "V E"]]:
    """The rows of all ids in use: `input`, the token table, and `output`, unless that is the same.

    Input rows are those that are stored: before a factor, a projection or a norm that the
    embedding puts on them. They come to say what a token is followed by, output rows what it
    follows.
    """
    tables = {"input": model.embedding.token_rows()}
    if not tied_shared(model):
        tables["output"] = model.output.rows(embedding=model.embedding)
    return {name: rows.detach()[: model.sizes.used_vocab] for name, rows in tables.items()}


def neighbours(
    rows: Float[Tensor, "V E"], token: int, *, count: int, data: Data
) -> list[Neighbour]:
    """The `count` nearest by cosine, nearest first and the lower id among equals.

    The token itself is left out, and so are rows of zeros, which point nowhere.
    """
    cosines = (rows @ rows[token] / (rows.norm(dim=1) * rows[token].norm())).cpu()
    cosines[token] = torch.nan
    near = cosines.nan_to_num(nan=-torch.inf).argsort(descending=True, stable=True)[:count]
    return [
        Neighbour(token=label_of(data, index), cosine=float(cosines[index]))
        for index in near.tolist()
        if cosines[index].isfinite()
    ]
