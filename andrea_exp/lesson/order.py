"""What order a model sees, and where schemes without rows act: claims 19 and 25."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from andrea_exp.lesson import parts
from andrea_exp.lesson.claim import Found, Question, Value, above, below, equal
from andrea_exp.model.decoder import Decoder
from andrea_exp.position.base import Position, Positions

IDS = torch.tensor([[3, 1, 4, 15, 9, 2, 6], [2, 7, 18, 2, 8, 1, 0]])
# Neither is a reversal, which a symmetric bias cannot see either.
SHUFFLE = torch.tensor([2, 0, 5, 1, 4, 6, 3])
EARLIER = torch.tensor([2, 0, 5, 1, 4, 3, 6])
ROUNDING, SEEN = 1e-12, 1e-4
"""Below the first there is only rounding in float64; above the second, a difference."""


def build(position: str, *, causal: bool, layers: int) -> Decoder:
    """The small decoder in float64."""
    config = parts.composed(*parts.SMALL)
    model = replace(config.recipe.model, causal=causal, num_layers=layers)
    return parts.changed(config, model=model, position=position).build_model().double()


@torch.no_grad()
def order() -> Found:
    """Claim 19."""
    bare = "none"
    for layers in (1, 3):
        change = _of_the_set(build(bare, causal=False, layers=layers), SHUFFLE)
        yield below(f"no mask, {layers} layer(s), none: change", change, ROUNDING)
    change = _of_the_last(build(bare, causal=True, layers=1))
    yield below("causal, 1 layer, none: change of the last", change, ROUNDING)
    change = _of_the_last(build(bare, causal=True, layers=2))
    yield above("causal, 2 layers, none: change of the last", change, SEEN)
    for option in parts.schemes():
        model = build(option, causal=True, layers=1)
        if model.position.table() is not None or model.position.acts_in_attention:
            change = _of_the_last(model)
            yield above(f"causal, 1 layer, {option}: change of the last", change, SEEN)
    reversal = torch.arange(6, -1, -1)
    change = _of_the_set(build("alibi", causal=False, layers=2), reversal)
    yield below("no mask, alibi: change by a reversal", change, ROUNDING)


def _of_the_last(model: Decoder) -> float:
    """How much the last scores depend on the order of the earlier tokens."""
    return (model(IDS)[:, -1] - model(IDS[:, EARLIER])[:, -1]).abs().max().item()


def _of_the_set(model: Decoder, permutation: Tensor) -> float:
    """How much scores change beyond moving with their tokens."""
    return (model(IDS)[:, permutation] - model(IDS[:, permutation])).abs().max().item()


@torch.no_grad()
def in_attention() -> Found:
    """Claim 25."""
    for option in ("rope", "alibi", "none"):
        scheme = parts.scheme(option, rows=9, width=64)
        rows = scheme.rows(parts.first(9))
        yield equal(f"{option}: rows added", "none" if rows is None else rows.shape[0], "none")
    yield from _turned(parts.scheme("rope", rows=9, width=64))
    yield from _biased(parts.scheme("alibi", rows=9, width=64, heads=8))
    for option in ("rope", "alibi", "none"):
        change = _shifted(build(option, causal=True, layers=2))
        yield below(f"{option}: change by a common shift", change, ROUNDING)
    change = _shifted(build("learned", causal=True, layers=2))
    yield above("learned: change by a common shift", change, SEEN)


def _turned(rope: Position) -> Iterator[Value]:
    """Unit vectors q and k at each of 600 places: norms, and products by offset."""
    generator = torch.Generator().manual_seed(0)
    pair = torch.randn(2, 64, dtype=torch.float64, generator=generator)
    pair = pair / pair.norm(dim=1, keepdim=True)
    where = parts.first(600)
    q, k = (rope.turn(vector.expand(1, 1, 600, -1), where)[0, 0] for vector in pair)
    off = torch.cat([q, k]).norm(dim=1).sub(1).abs().max().item()
    yield below("rope: largest change of a norm", off, ROUNDING)
    products = q @ k.T
    offsets = [products.diagonal(offset) for offset in (-500, -17, -1, 0, 1, 17, 500)]
    spread = max((each.max() - each.min()).item() for each in offsets)
    yield below("rope: spread of q . k at equal i-j", spread, ROUNDING)
    apart = torch.stack([each.mean() for each in offsets])
    least = (apart[:, None] - apart).abs().fill_diagonal_(1).min().item()
    yield above("rope: least difference of q . k at unlike i-j", least, 1e-3)


def _biased(alibi: Position) -> Iterator[Value]:
    bias = alibi.bias(parts.first(9))
    assert bias is not None
    found = bias[:, 3, 1].tolist()
    expected = [-2 * 2.0**-head for head in range(1, 9)]
    yield equal("alibi, 8 heads: bias of i 3, j 1", found, expected)


def _shifted(model: Decoder) -> float:
    """How much the scores change when all positions are three further."""
    here, there = (
        model(IDS[:, :4], positions=Positions(index=torch.arange(4) + offset, length=7))
        for offset in (0, 3)
    )
    return (here - there).abs().max().item()


QUESTIONS = (
    Question(
        number=19,
        question="Without positions, does a transformer see order?",
        says="No: `the cat sat on a mat` and its reversal are alike to it.",
        right="Only without a causal mask, or in the first causal layer, whose last output ignores "
        "the order of the earlier tokens. Two causal layers see it, so no positions at all is a "
        "real baseline. And a reversal is a bad example: ALiBi without a mask cannot see one "
        "either.",
        live=order,
    ),
    Question(
        number=25,
        question="Where do RoPE and ALiBi act?",
        says="They keep the contract of a transform of (B, T, D) vectors, at the projections; RoPE "
        "rotates query and key and has no parameters.",
        right="RoPE turns queries and keys of shape (B, H, T, D/H); ALiBi touches no vector, it "
        "adds (H, T, T) to the scores. Neither adds a row, and both know differences alone.",
        live=in_attention,
    ),
)
