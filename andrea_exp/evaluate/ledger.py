"""The parameter ledger: what a model holds and where, from its modules alone.

Nothing is read but shapes, so a model on the meta device has the same ledger as a real one.
"""

from dataclasses import dataclass

from torch import nn

from andrea_exp.evaluate.flops import flops_per_token
from andrea_exp.model.decoder import Decoder
from andrea_exp.norm import Norm


@dataclass(kw_only=True, frozen=True)
class Shares:
    """The five parts as fractions of one number."""

    token_embedding: float
    position: float
    blocks: float
    norms: float
    output: float


@dataclass(kw_only=True, frozen=True)
class Fractions:
    """The five parts beside what is really there, and beside the size in the model's name."""

    of_total: Shares
    of_nominal: Shares | None


@dataclass(kw_only=True, frozen=True)
class Ledger:
    """Numbers of elements, unless named otherwise; `token_embedding` to `output` sum to `total`."""

    total: int
    """Parameters; one that two modules share is counted once."""
    trainable: int
    """Those that training changes."""
    token_embedding: int
    """The token table, and a projection that belongs to it."""
    position: int
    """Parameters of the position scheme; fixed rows are buffers."""
    blocks: int
    """Matrices and biases of attention and feed-forward."""
    norms: int
    """Gains and biases of every norm, wherever it stands."""
    output: int
    """The output's own parameters; 0 if it is tied."""
    tied_shared: int
    """Elements of the token table that a tied output scores with; 0 if it is untied."""
    buffers: int
    """Elements that are stored but are no parameters, such as the rows of a sinusoid."""
    padding_rows: int
    """Rows of the token table whose id no data can produce."""
    nominal: int | None
    """The round size in the system's name."""
    fraction: Fractions
    bytes_weights: int
    """Memory of the parameters."""
    bytes_optimizer: int
    """Memory of the optimizer's state for the trainable ones."""
    flops_per_token: int
    """Forward and backward, per trained token; see `flops.py` for what is counted."""


def ledger(model: Decoder, *, nominal: int | None, moments: int) -> Ledger:
    """Count a model's parameters by part.

    Args:
        model: on any device, meta included.
        nominal: the round size in the system's name, if it has one.
        moments: tensors that the optimizer keeps per trainable parameter, in its shape and dtype;
            2 for AdamW, whose step counters are not counted.
    """
    owner = _owners(model)
    counts = {
        part: sum(parameter.numel() for parameter in owner if owner[parameter] == part)
        for part in ("token_embedding", "position", "blocks", "norms", "output")
    }
    total = sum(parameter.numel() for parameter in model.parameters())
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return Ledger(
        **counts,
        total=total,
        trainable=sum(parameter.numel() for parameter in trainable),
        tied_shared=tied_shared(model),
        buffers=sum(buffer.numel() for buffer in model.buffers()),
        padding_rows=model.sizes.vocab - model.sizes.used_vocab,
        nominal=nominal,
        fraction=Fractions(
            of_total=_shares(counts, whole=total),
            of_nominal=None if nominal is None else _shares(counts, whole=nominal),
        ),
        bytes_weights=sum(parameter.nbytes for parameter in model.parameters()),
        bytes_optimizer=moments * sum(parameter.nbytes for parameter in trainable),
        flops_per_token=flops_per_token(model),
    )


def tied_shared(model: Decoder) -> int:
    """Elements of the embedding's table that the output scores with, 0 if it has its own."""
    rows = model.output.rows(embedding=model.embedding)
    own = any(rows is parameter for parameter in model.embedding.parameters())
    return rows.numel() if own else 0


def _owners(model: Decoder) -> dict[nn.Parameter, str]:
    """The part of each parameter: `norms` if a norm holds it, else that of the first holder."""
    norms = [part for part in model.modules() if isinstance(part, Norm)]
    owner = {parameter: "norms" for norm in norms for parameter in norm.parameters()}
    holders: dict[str, nn.Module] = {
        "token_embedding": model.embedding,
        "position": model.position,
        "blocks": model.blocks,
        "output": model.output,
    }
    for part, holder in holders.items():
        for parameter in holder.parameters():
            owner.setdefault(parameter, part)
    return owner


def _shares(counts: dict[str, int], *, whole: int) -> Shares:
    return Shares(**{part: count / whole for part, count in counts.items()})
