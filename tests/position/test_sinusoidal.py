"""The sinusoid against its formula, and the numbers the lesson derives from it."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from andrea_exp.embedding.base import EmbeddingConfig
from andrea_exp.kernel.embedding.sinusoid import Sinusoid, sinusoid, written
from andrea_exp.position.base import Position, Positions
from andrea_exp.position.sinusoidal import Sinusoidal
from andrea_exp.shapes import Sizes
from tests import options

# Vaswani et al. 2017, section 3.5, to ten decimals: rows 1, 2, 3 at D 8, rows 1, 2, 3, 100 at D 6.
PRINTED_8 = [
    [
        0.8414709848,
        0.5403023059,
        0.0998334166,
        0.9950041653,
        0.0099998333,
        0.9999500004,
        0.0009999998,
        0.9999995,
    ],
    [
        0.9092974268,
        -0.4161468365,
        0.1986693308,
        0.9800665778,
        0.0199986667,
        0.9998000067,
        0.0019999987,
        0.999998,
    ],
    [
        0.1411200081,
        -0.9899924966,
        0.2955202067,
        0.9553364891,
        0.0299955002,
        0.9995500337,
        0.0029999955,
        0.9999955,
    ],
]
PRINTED_6 = [
    [0.8414709848, 0.5403023059, 0.0463992235, 0.9989229760, 0.0021544330, 0.9999976792],
    [0.9092974268, -0.4161468365, 0.0926985008, 0.9956942241, 0.0043088560, 0.9999907168],
    [0.1411200081, -0.9899924966, 0.1387981011, 0.9903206991, 0.0064632591, 0.9999791129],
    [-0.5063656411, 0.8623188723, -0.9974947164, -0.0707410121, 0.2137806661, 0.9768816852],
]
Formula = Callable[[int, int, float], list[float]]


def row(position: int, width: int, base: float) -> list[float]:
    """One row, feature by feature as the paper writes it."""
    angles = [position / base ** (2 * (i // 2) / width) for i in range(width)]
    return [math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(angles)]


def swapped(position: int, width: int, base: float) -> list[float]:
    angles = [position / base ** (2 * (i // 2) / width) for i in range(width)]
    return [math.sin(a) if i % 2 else math.cos(a) for i, a in enumerate(angles)]


def halves(position: int, width: int, base: float) -> list[float]:
    right = row(position, width, base)
    return right[::2] + right[1::2]


def base_ignored(position: int, width: int, _: float) -> list[float]:
    return row(position, width, 1e4 + 1)


def error(formula: Formula, width: int, base: float) -> float:
    index = [0, 1, 2, 3, 100, 1023]
    rows = sinusoid(torch.tensor(index), width=width, base=base).numpy()
    return float(np.abs(rows - [formula(p, width, base) for p in index]).max())


def build(
    *,
    option: str = "sinusoidal",
    scale: float = 0.25,
    rows: int = 9,
    width: int = 8,
    computed: bool = False,
) -> Position:
    sizes = Sizes(vocab=5, used_vocab=5, context=rows, d_model=width, num_heads=2, num_layers=1)
    config = options.position(option, computed=computed)
    scheme = config.build(sizes=sizes, token_scale=scale)
    scheme.initialise(torch.Generator())
    return scheme


def rows_of(scheme: Position, count: int) -> Tensor:
    return written_rows(scheme, Positions(index=torch.arange(count), length=count))


def written_rows(scheme: Position, positions: Positions) -> Tensor:
    rows = scheme.rows(positions)
    assert rows is not None
    return written(rows, dtype=torch.float32)


def cosines(table: Tensor, lag: int) -> Tensor:
    return torch.nn.functional.cosine_similarity(table[:-lag], table[lag:], dim=1)


@pytest.mark.parametrize(
    ("width", "index", "printed"), [(8, [1, 2, 3], PRINTED_8), (6, [1, 2, 3, 100], PRINTED_6)]
)
def test_rows_are_the_printed_ones(width: int, index: list[int], printed: list[list[float]]):
    rows = sinusoid(torch.tensor(index), width=width, base=10000.0).numpy()
    assert np.abs(rows - printed).max() < 6e-11


@pytest.mark.parametrize("base", [10000.0, 500.0])
@pytest.mark.parametrize("width", [8, 6])
def test_rows_are_the_formula(width: int, base: float):
    assert error(row, width, base) < 1e-12


@pytest.mark.parametrize("base", [10000.0, 500.0])
@pytest.mark.parametrize("saboteur", [swapped, halves, base_ignored])
def test_no_variant_of_the_formula_fits(saboteur: Formula, base: float):
    assert error(saboteur, 8, base) > 1e-4


def test_row_zero_alternates_zero_and_one():
    assert sinusoid(torch.tensor([0]), width=6, base=500.0).tolist() == [[0, 1, 0, 1, 0, 1]]


def test_every_row_has_the_norm_of_half_the_width_and_no_two_are_equal():
    table = sinusoid(torch.arange(1024), width=64, base=10000.0)
    torch.testing.assert_close(table.norm(dim=1), torch.full((1024,), 32**0.5).double())
    assert len(table.unique(dim=0)) == 1024


@pytest.mark.parametrize(
    ("width", "printed"),
    [
        (64, [0.9662, 0.8845, 0.7996, 0.7479, 0.7345, 0.7362]),
        (32, [0.9571, 0.8581, 0.7670, 0.7288, 0.7361, 0.7432]),
        (768, [0.9734, 0.9061, 0.8284, 0.7694, 0.7410, 0.7354]),
    ],
)
def test_the_cosine_of_neighbours_depends_on_their_distance_alone(width: int, printed: list[float]):
    table = sinusoid(torch.arange(200), width=width, base=10000.0)
    for lag, cosine in enumerate(printed, start=1):
        measured = cosines(table, lag)
        assert (measured.max() - measured.min()) < 1e-12
        assert abs(measured[0].item() - cosine) < 5.1e-5


@pytest.mark.parametrize("lag", [1, 5, 17])
def test_one_linear_map_shifts_every_row(lag: int):
    width, base = 16, 10000.0
    table = sinusoid(torch.arange(1024 + lag), width=width, base=base)
    blocks: list[Tensor] = []
    for pair in range(width // 2):
        turn = lag * base ** (-2 * pair / width)
        cos, sin = math.cos(turn), math.sin(turn)
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64))
    shift = torch.block_diag(*blocks)
    assert (table[:1024] @ shift.T - table[lag:]).abs().max() < 1e-12
    assert (table[:1024] @ shift - table[lag:]).abs().max() > 0.1  # the inverse map does not


def test_low_pairs_are_fine_and_high_pairs_coarse():
    table = sinusoid(torch.arange(128), width=64, base=10000.0)
    change = table.diff(dim=0).abs().mean(dim=0)
    assert abs(change[0].item() - 0.613) < 0.002
    assert abs(change[62].item() - 1.33e-4) < 1e-6
    assert (change[0::2].diff() < 0).all()


def test_the_default_multiplier_gives_rows_the_scale_of_token_vectors():
    scale = rows_of(build(scale=0.25), 9).square().mean(dim=1).sqrt()
    torch.testing.assert_close(scale, torch.full((9,), 0.25))


def test_raw_rows_do_not_follow_the_token_vectors():
    raw = build(option="sinusoidal_raw", scale=0.25)
    torch.testing.assert_close(
        rows_of(raw, 9).double(),
        sinusoid(torch.arange(9), width=8, base=10000.0),
        rtol=0,
        atol=6e-8,
    )


@pytest.mark.parametrize(
    ("embedding", "option", "ratio"),
    [
        (options.embedding("table", std=0.02), "sinusoidal_raw", 35.4),
        (options.embedding("table", std=None), "sinusoidal_raw", 19.6),
        (options.embedding("table", std=0.02), "sinusoidal", 1.0),
        (options.embedding("scaled", std=None), "sinusoidal_raw", 0.707),
        (options.embedding("scaled", std=0.02), "sinusoidal_raw", 1.276),
    ],
)
def test_position_rows_over_token_rows_at_width_768(
    embedding: EmbeddingConfig, option: str, ratio: float
):
    sizes = Sizes(vocab=600, used_vocab=600, context=4, d_model=768, num_heads=1, num_layers=0)
    tokens = embedding.build(sizes=sizes, kernel=options.kernel().build().embedding)
    tokens.initialise(torch.Generator().manual_seed(0))
    scheme = options.position(option).build(sizes=sizes, token_scale=tokens.scale())
    scheme.initialise(torch.Generator())
    vectors = tokens(torch.arange(600)[None], None)[0]
    measured = rows_of(scheme, 4).norm(dim=1).mean() / vectors.norm(dim=1).mean()
    assert abs(measured.item() / ratio - 1) < 0.005


def test_rows_past_the_buffer_come_from_the_same_formula():
    assert torch.equal(rows_of(build(rows=9), 9), rows_of(build(rows=4), 9))


@pytest.mark.parametrize("option", ["sinusoidal", "sinusoidal_raw"])
def test_computed_rows_are_the_stored_ones_and_no_number_is_kept(option: str):
    stored, computed = build(option=option), build(option=option, computed=True)
    here = Positions(index=torch.tensor([8, 0, 3]), length=9)
    rows = computed.rows(here)
    assert isinstance(rows, Sinusoid)
    assert rows.shape == (3, 8)
    assert torch.equal(rows.write(torch.float32), written_rows(stored, here))
    assert torch.equal(rows_of(computed, 20), rows_of(stored, 20))
    assert sum(buffer.numel() for buffer in computed.buffers()) == 0
    assert not computed.state_dict()


@pytest.mark.parametrize("length", [7, 12])
@pytest.mark.parametrize("embedding", ["table", "factorized"])
def test_a_model_scores_the_same_with_computed_rows(embedding: str, length: int):
    scores: list[Tensor] = []
    for computed in (False, True):
        model = options.decoder(
            options.model(),
            position=options.position("sinusoidal", computed=computed),
            embedding=options.small(options.embedding(embedding)),
            output=options.output("untied"),
        )
        scores.append(model(torch.arange(length)[None]))
    assert torch.equal(*scores)


def test_the_table_of_computed_rows_is_that_of_the_trained_length():
    for dtype in (torch.float32, torch.float64):
        computed, stored = build(computed=True).to(dtype), build()
        table, kept = computed.table(), stored.table()
        assert table is not None
        assert kept is not None
        assert table.dtype == dtype
        assert torch.equal(table.float(), kept)


def test_rows_that_are_written_are_given_back_as_they_are():
    rows = torch.randn(2, 4)
    assert written(rows, dtype=torch.float64) is rows


def test_the_table_is_neither_trained_nor_saved():
    scheme = build()
    assert isinstance(scheme, Sinusoidal)
    assert not list(scheme.parameters())
    assert not scheme.state_dict()
    assert scheme.table().shape == (9, 8)


def test_float32_rows_are_as_exact_as_float32_can_be():
    exact = sinusoid(torch.arange(1024), width=768, base=10000.0)
    table = build(option="sinusoidal_raw", rows=1024, width=768).table()
    assert table is not None
    assert (table.double() - exact).abs().max() < 3.1e-8


def test_a_cast_to_bfloat16_keeps_every_row_distinct():
    rows = rows_of(build(rows=512, width=128).to(torch.bfloat16), 512)
    assert len(rows.float().unique(dim=0)) == 512
    angles_in_bfloat16 = torch.arange(512).bfloat16().long()
    assert len(angles_in_bfloat16.unique()) == 385


def test_an_odd_width_is_refused():
    with pytest.raises(ValueError, match=r"even width, got model\.d_model=7"):
        build(width=7)
