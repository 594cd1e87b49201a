"""The sinusoid's formula and what follows from it: claims 7, 8, 9 and 10."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from andrea_exp.evaluate.panel import panel
from andrea_exp.lesson import parts
from andrea_exp.lesson.claim import Found, Plot, Question, Value, below, equal, near

RAW = "sinusoidal_raw"
"""The option whose rows are those of the paper, without a factor."""

COSINES = {
    64: [0.9662, 0.8845, 0.7996, 0.7479, 0.7345, 0.7362],
    32: [0.9571, 0.8581, 0.7670, 0.7288, 0.7361, 0.7432],
    768: [0.9734, 0.9061, 0.8284, 0.7694, 0.7410, 0.7354],
}
"""D -> mean cosine of rows p and p+k, k = 1..6."""


def sinusoid(rows: int, *, width: int) -> Tensor:
    """The product's rows in float64."""
    return parts.rows_of(parts.scheme(RAW, rows=rows, width=width), rows)


def formula() -> Found:
    """Claim 7."""
    rows = sinusoid(128, width=64)
    yield near("row 0, largest deviation from 0 1 0 1 ...", _from_zero_row(rows), 0, within=1e-15)
    start = [0.8414709848, 0.5403023059]
    yield near("row 1, first pair", rows[1, :2].tolist(), start, within=5e-11)
    # sin and cos of 1 / 10000^(2/8) and so on: two rows of the formula at D 8, computed apart.
    narrow = sinusoid(4, width=8)
    yield near(
        "D 8, row 1",
        narrow[1].tolist(),
        [
            *(0.8414709848, 0.5403023059, 0.0998334166, 0.9950041653),
            *(0.0099998333, 0.9999500004, 0.0009999998, 0.9999995),
        ],
        within=5e-11,
    )
    off = (rows.norm(dim=1) - 32**0.5).abs().max().item()
    yield below("largest |norm - sqrt(D/2)|, D 64", off, 1e-12)
    yield near("norm of row 1, D 64", rows[1].norm().item(), 5.656854, within=5e-7)
    yield equal("distinct rows of 128", len({tuple(row) for row in rows.tolist()}), 128)
    change = rows.diff(dim=0).abs().mean(dim=0)
    yield near("mean change per step, first feature", change[0].item(), 0.613, within=5e-4)
    yield near("mean change per step, last sine", change[-2].item(), 1.33e-4, within=5e-7)


def _from_zero_row(rows: Tensor) -> float:
    alternating = torch.tensor([0.0, 1.0], dtype=rows.dtype).repeat(rows.shape[1] // 2)
    return (rows[0] - alternating).abs().max().item()


def neighbours() -> Found:
    """Claim 8."""
    lines: dict[str, list[float]] = {}
    for width, expected in COSINES.items():
        cosines = [each or 0 for each in panel(sinusoid(128, width=width)).cosine_by_lag]
        lines[f"D {width}"] = cosines
        yield near(f"D {width}, k 1..6", cosines[:6], expected, within=5.1e-5)
        closed = [_closed_form(k, width=width) for k in range(1, len(cosines) + 1)]
        off = max(abs(one - other) for one, other in zip(cosines, closed, strict=True))
        yield below(f"D {width}, off the closed form, k 1..{len(cosines)}", off, 1e-12)
        rise = next((k for k in range(1, 64) if cosines[k] > cosines[k - 1]), 0)
        yield equal(f"D {width}, first rise after k", rise, {64: 5, 32: 4, 768: 43}[width])
    wide = sinusoid(1024, width=768)
    lowest = (wide @ wide[0]).min().item() / 384
    yield near("D 768, smallest cosine, k < 1024", lowest, 0.158, within=5e-4)
    yield Plot(title="Cosine of rows p and p+k", across="distance k", lines=lines)


def _closed_form(lag: int, *, width: int) -> float:
    """Without a table: (2/D) sum_i cos(k 10000^(-2i/D))."""
    pairs = width // 2
    return math.fsum(math.cos(lag * 10_000 ** (-i / pairs)) for i in range(pairs)) / pairs


def shift() -> Found:
    """Claim 9."""
    rows = sinusoid(1024 + 17, width=64)
    for lag in (1, 5, 17):
        turn = _rotation(lag, width=64)
        off = (rows[:1024] @ turn.T - rows[lag : 1024 + lag]).abs().max().item()
        yield below(f"k {lag}: largest |R row p - row p+k|", off, 1e-12)
        products = (rows[:1024] * rows[lag : 1024 + lag]).sum(dim=1)
        spread = (products.max() - products.min()).item()
        yield below(f"k {lag}: spread of row p . row p+k over p", spread, 1e-12)
    off = (turn @ turn.T - torch.eye(64)).abs().max().item()
    yield below("k 17: largest |R R' - 1|", off, 1e-12)


def _rotation(lag: int, *, width: int) -> Tensor:
    """The map of the addition theorem: pair i turned by k w_i; no row of a table is read."""
    blocks: list[Tensor] = []
    for i in range(width // 2):
        angle = lag * 10_000 ** (-2 * i / width)
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[c, s], [-s, c]], dtype=torch.float64))
    return torch.block_diag(*blocks)


def bands() -> Found:
    """Claim 10."""
    lines: dict[str, list[float]] = {}
    for width, expected in (
        (64, [6.2832, 8.3788, 47_117, 1.3335, 32, 11]),
        (32, [6.2832, 11.1733, 35_333, 1.7783, 16, 6]),
    ):
        lengths = _wavelengths(width)
        lines[f"D {width}"] = lengths.log10().tolist()
        yield from _band(lengths, expected, name=f"D {width}")
    last = _wavelengths(768)[-1].item()
    yield near("D 768: longest", last, 61_343, within=0.5)
    yield Plot(title="Wavelength, as a power of ten", across="pair, low to high", lines=lines)


def _wavelengths(width: int) -> Tensor:
    """Positions in which each pair turns once, by the angle between rows 0 and 1."""
    sine, cosine = sinusoid(2, width=width)[1].view(-1, 2).unbind(1)
    return 2 * math.pi / torch.atan2(sine, cosine)


def _band(lengths: Tensor, expected: list[float], *, name: str) -> Iterator[Value]:
    first, second, last, ratio, pairs, short = expected
    yield near(f"{name}: shortest", lengths[0].item(), first, within=5e-5)
    yield near(f"{name}: second", lengths[1].item(), second, within=5e-5)
    yield near(f"{name}: longest", lengths[-1].item(), last, within=0.5)
    ratios = (lengths[1:] / lengths[:-1]).mean().item()
    yield near(f"{name}: each over the one before", ratios, ratio, within=5e-5)
    yield equal(f"{name}: pairs", len(lengths), int(pairs))
    yield equal(f"{name}: shorter than 128", int((lengths < 128).sum()), int(short))
    rising = int((lengths.diff() > 0).sum())
    yield equal(f"{name}: pairs slower than the one before", rising, int(pairs) - 1)


QUESTIONS = (
    Question(
        number=7,
        question="Which rows does the sinusoid have?",
        says="angle = p / 10000^(2(i//2)/D); even features sine, odd features cosine; every row "
        "its own.",
        right="Angles must be exact: in float32 they err by 6.4e-5 at 1,024 x 768, and positions "
        "in bf16 leave 513 of 1,024 rows distinct. Here they are float64, and cast last.",
        live=formula,
    ),
    Question(
        number=8,
        question="How alike are neighbouring rows of the sinusoid?",
        says="Smooth, predictable decay of the cosine with distance.",
        right="Smooth and predictable, the same for every p, but no decay: it rises again from "
        "k 5 at D 64, and far rows are not orthogonal. (2/D) sum cos(k w_i) is what to expect.",
        live=neighbours,
    ),
    Question(
        number=9,
        question="Is row p+k a linear function of row p?",
        says="Yes, the same map for every p: an easy way to learn relative offsets.",
        right="The map exists: it turns each pair by k w_i. But nothing hands it to attention: the "
        "query and key matrices must learn it, through a norm and beside the token's part.",
        live=shift,
    ),
    Question(
        number=10,
        question="Exercise: D 64 against 32, which wavelengths are there?",
        says="Low features for coarse position, high features for fine.",
        right="The other way round: pair 0 turns once in 6.28 positions (fine), the last one in "
        "47,117 (coarse). Half the width has half the bands, spread over nearly the same range.",
        live=bands,
    ),
)
