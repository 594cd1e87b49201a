"""Properties of position rows that the lesson states, or that correct it."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from andrea_exp.evaluate.controls import controls
from andrea_exp.evaluate.panel import panel
from andrea_exp.kernel.embedding.sinusoid import sinusoid
from andrea_exp.position.base import Position, Positions
from andrea_exp.position.learned import Learned
from andrea_exp.seeding import torch_generator
from andrea_exp.shapes import Sizes
from tests import options


def scheme(
    option: str, *, rows: int, width: int, heads: int = 1, seed: int = 0, **changes: object
) -> Position:
    sizes = Sizes(vocab=5, used_vocab=5, context=rows, d_model=width, num_heads=heads, num_layers=1)
    built = options.position(option, **changes).build(sizes=sizes, token_scale=0.02)
    built.initialise(torch_generator(seed, "init/position"))
    return built


def shift_by(row: Tensor) -> Tensor:
    """The map whose blocks turn each pair by the angle of that pair in this row."""
    pairs = [
        torch.stack([c, s, -s, c]).view(2, 2) for s, c in zip(row[::2], row[1::2], strict=True)
    ]
    return torch.block_diag(*pairs)


def spread(table: Tensor, lag: int) -> float:
    """Largest difference between dot products of rows that are `lag` apart."""
    products = (table[:-lag] * table[lag:]).sum(dim=1)
    return float(products.max() - products.min())


@pytest.mark.parametrize("lag", [1, 5, 17])
def test_the_row_of_an_offset_says_how_every_row_is_shifted_by_it(lag: int):
    table = sinusoid(torch.arange(1024 + 17), width=64, base=10_000.0)
    shift = shift_by(table[lag])
    assert (table[:1024] @ shift.T - table[lag : 1024 + lag]).abs().max() < 1e-12
    assert (table[:1024] @ shift_by(table[lag + 1]).T - table[lag : 1024 + lag]).abs().max() > 0.1
    assert (shift @ shift.T - torch.eye(64)).abs().max() < 1e-12
    assert spread(table, lag) < 1e-12
    random = scheme("learned", rows=1024, width=64, std=1.0).table()
    assert random is not None
    assert spread(random.detach(), lag) > 1


def wavelengths(width: int, *, base: float = 10_000.0) -> Tensor:
    """Of each pair, from the angle between rows 0 and 1."""
    sine, cosine = sinusoid(torch.tensor([1]), width=width, base=base)[0].view(-1, 2).unbind(1)
    return 2 * math.pi / torch.atan2(sine, cosine)


def bands(lengths: Tensor) -> list[float]:
    """First, second and last wavelength, their ratio, how many, and how many below 128."""
    ratio = float((lengths[1:] / lengths[:-1]).mean())
    ends = [round(float(lengths[i]), 4) for i in (0, 1)]
    below = int((lengths < 128).sum())
    return [*ends, round(float(lengths[-1])), round(ratio, 4), len(lengths), below]


WIDE = [6.2832, 8.3788, 47_117, 1.3335, 32, 11]
NARROW = [6.2832, 11.1733, 35_333, 1.7783, 16, 6]


@pytest.mark.parametrize(("width", "expected"), [(64, WIDE), (32, NARROW)])
def test_wavelength_bands_at_two_widths(width: int, expected: list[float]):
    lengths = wavelengths(width)
    assert bands(lengths) == expected
    assert bands(wavelengths(width, base=500.0)) != expected
    assert (lengths.diff() > 0).all()  # low pairs are fine
    ratios = lengths[1:] / lengths[:-1]
    assert (ratios.max() - ratios.min()) < 1e-9  # a geometric series


def test_the_longest_wave_of_the_example():
    assert round(wavelengths(768)[-1].item()) == 61_343


def test_a_fresh_learned_table_looks_random_at_every_lag():
    found = np.array(
        [
            panel(fresh).cosine_by_lag[:6]
            for seed in range(100)
            if (fresh := scheme("learned", rows=128, width=64, seed=seed).table()) is not None
        ],
        dtype=float,
    )
    assert found.shape == (100, 6)
    expected = [(64 * (128 - lag)) ** -0.5 for lag in range(1, 7)]
    assert expected[0] == pytest.approx(0.0111, abs=5e-5)
    # Four standard errors, of a mean and of a deviation from 100 draws.
    assert (np.abs(found.mean(axis=0)) < 4 * np.array(expected) / 10).all()
    assert found.std(axis=0, ddof=1) == pytest.approx(expected, rel=4 / 198**0.5)
    walk = [controls(torch.ones(128, 64), seed=seed).random_walk.adjacent_cosine for seed in (0, 1)]
    assert min(closeness or 0 for closeness in walk) > 0.5


def test_a_shuffled_sinusoid_looks_smooth_until_it_is_centred():
    table = sinusoid(torch.arange(128), width=64, base=10_000.0)
    draws = [controls(table, seed=seed).shuffled for seed in range(20)]
    plain = np.mean([draw.adjacent_cosine or 0 for draw in draws])
    centred = np.mean([draw.centred_adjacent_cosine or 0 for draw in draws])
    assert plain == pytest.approx(0.55, abs=0.02)
    assert centred == pytest.approx(0, abs=0.02)
    ordered = panel(table)
    assert ordered.adjacent_cosine == pytest.approx(0.9662, abs=5e-5)
    assert (ordered.centred_adjacent_cosine or 0) > 0.9


@pytest.mark.parametrize("option", ["rope", "rope_half", "alibi", "none"])
def test_what_acts_in_attention_adds_no_row(option: str):
    position = scheme(option, rows=9, width=24, heads=3)
    where = Positions.first(9, device=torch.device("cpu"))
    assert position.rows(where) is None
    assert position.table() is None
    assert not [*position.parameters(), *position.buffers()]
    assert position.acts_in_attention == (option != "none")


def scores(position: Position, query: Tensor, key: Tensor) -> Tensor:
    """Products of one query and one key that stand at every place."""
    count = 600
    where = Positions.first(count, device=torch.device("cpu"))
    at_every_place = [
        position.turn(vector.expand(1, 1, count, -1), where)[0, 0] for vector in (query, key)
    ]
    for turned, vector in zip(at_every_place, (query, key), strict=True):
        assert (turned.norm(dim=1) - vector.norm()).abs().max() < 1e-12
    return at_every_place[0] @ at_every_place[1].T


@pytest.mark.parametrize("option", ["rope", "rope_half"])
def test_rotated_products_depend_on_the_offset_alone(option: str):
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 64, dtype=torch.float64, generator=generator)
    query, key = query / query.norm(), key / key.norm()
    product = scores(scheme(option, rows=9, width=64), query, key)
    offsets = [product.diagonal(offset) for offset in (-500, -17, -1, 0, 1, 17, 500)]
    assert max(float(diagonal.max() - diagonal.min()) for diagonal in offsets) < 1e-12
    means = torch.stack([diagonal.mean() for diagonal in offsets])
    assert (means[:, None] - means).abs().fill_diagonal_(1).min() > 1e-3  # and do depend on it


@pytest.mark.parametrize(
    ("option", "width", "ratio"),
    [
        ("sinusoidal_raw", 64, 35.4),
        ("sinusoidal_raw", 384, 35.4),
        ("sinusoidal", 64, 1.0),
        ("learned", 384, 1.0),
        ("learned_rsqrt", 64, 6.25),
        ("learned_std08", 384, 4.0),
    ],
)
def test_position_rows_over_token_rows_at_a_deviation_of_two_hundredths(
    option: str, width: int, ratio: float
):
    sizes = Sizes(vocab=800, used_vocab=800, context=500, d_model=width, num_heads=1, num_layers=0)
    tokens = options.embedding("table", std=0.02).build(
        sizes=sizes, kernel=options.kernel().build().embedding
    )
    tokens.initialise(torch_generator(0, "init/embedding"))
    position = options.position(option).build(sizes=sizes, token_scale=tokens.scale())
    position.initialise(torch_generator(0, "init/position"))
    table = position.table()
    assert table is not None
    found = table.norm(dim=1).mean() / tokens.token_rows().norm(dim=1).mean()
    assert found.item() == pytest.approx(ratio, rel=0.01)
    assert isinstance(position, Learned) == option.startswith("learned")
