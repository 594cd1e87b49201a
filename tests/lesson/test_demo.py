"""The lesson's demo, with the classes themselves and nothing around them."""

import re
from collections.abc import Callable

import pytest
import torch
from jaxtyping import config as shape_checks
from torch import Tensor, nn

from andrea_exp.embedding.table import Table
from andrea_exp.kernel.embedding.sinusoid import written
from andrea_exp.kernel.embedding.torch import embed
from andrea_exp.position.base import Positions
from andrea_exp.position.beyond import Beyond
from andrea_exp.position.learned import Learned
from andrea_exp.position.sinusoidal import Sinusoidal

VOCAB, ROWS, BATCH, LENGTH = 320, 128, 4, 32


def table(*, vocab: int = VOCAB, width: int = 64) -> Table:
    return Table(vocab=vocab, width=width, std=0.02, kernel=embed)


def learned(*, rows: int = ROWS, width: int = 64, trained: int | None = None) -> Learned:
    return Learned(
        rows=rows,
        width=width,
        trained=rows if trained is None else trained,
        std=0.02,
        beyond=Beyond.error,
    )


def sinusoidal(*, rows: int = ROWS, width: int = 64) -> Sinusoidal:
    return Sinusoidal(rows=rows, width=width, base=10_000.0, multiplier=1.0, computed=False)


def drawn(*, width: int = 64) -> tuple[Table, Learned, Sinusoidal]:
    parts = table(width=width), learned(width=width), sinusoidal(width=width)
    for part in parts:
        part.initialise(torch.Generator().manual_seed(11))
    return parts


def first(count: int) -> Positions:
    return Positions.first(count, device=torch.device("cpu"))


def some_ids() -> Tensor:
    return torch.randint(VOCAB, (BATCH, LENGTH), generator=torch.Generator().manual_seed(11))


def parameters(part: nn.Module) -> int:
    return sum(parameter.numel() for parameter in part.parameters())


@pytest.mark.parametrize(("width", "counts"), [(64, [20_480, 8_192, 0]), (32, [10_240, 4_096, 0])])
def test_the_demo_has_its_parameters_and_shapes(width: int, counts: list[int]):
    parts = drawn(width=width)
    assert [parameters(part) for part in parts] == counts
    tokens, *schemes = parts
    for scheme in schemes:
        rows = scheme.rows(first(LENGTH))
        assert rows.shape == (LENGTH, width)
        assert tokens(some_ids(), rows).shape == (BATCH, LENGTH, width)
        assert scheme.rows(first(ROWS)).shape == (ROWS, width)


def test_one_position_more_than_the_table_is_refused_with_both_numbers_or_computed():
    _, trained, fixed = drawn()
    with pytest.raises(ValueError, match="a sequence of 129 exceeds the 128 trained positions"):
        trained.rows(first(ROWS + 1))
    rows = written(fixed.rows(first(ROWS + 1)), dtype=torch.float32)
    # 128 of the last position is the argument of the first sine: sin 128 = 0.7210377.
    assert rows[ROWS, 0].item() == pytest.approx(0.7210377, abs=1e-6)
    assert torch.equal(rows[:ROWS], fixed.table())


def test_neighbouring_rows_of_the_demo_are_alike_in_one_table_alone():
    _, trained, fixed = drawn()
    closeness = [
        torch.cosine_similarity(part.table()[:-1], part.table()[1:], dim=1)
        for part in (fixed, trained)
    ]
    assert closeness[0].mean().item() == pytest.approx(0.9662, abs=5e-5)
    assert closeness[0].std().item() < 1e-6
    assert abs(closeness[1].mean().item()) < 4 * 0.0111
    assert closeness[1].std().item() == pytest.approx(0.125, rel=0.25)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no vocabulary": (lambda: table(vocab=0), "vocab must be at least 1, got 0"),
    "no width": (lambda: table(width=-1), "width must be at least 1, got -1"),
    "no rows": (lambda: learned(rows=0), "rows must be at least 1, got 0"),
    "rows without width": (lambda: learned(width=0), "width must be at least 1, got 0"),
    "trained past the table": (
        lambda: learned(rows=5, trained=6),
        "trained must be from 1 to rows=5, got 6",
    ),
    "never trained": (
        lambda: learned(rows=5, trained=0),
        "trained must be from 1 to rows=5, got 0",
    ),
    "no fixed rows": (lambda: sinusoidal(rows=0), "rows must be at least 1, got 0"),
    "fixed rows without width": (lambda: sinusoidal(width=0), "width must be at least 1, got 0"),
    "odd width": (
        lambda: sinusoidal(width=63),
        "width must be even, since sine and cosine come in pairs; got 63",
    ),
    "no positions": (lambda: first(0), "the number of positions must be at least 1, got 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_class_used_by_itself_refuses_what_the_lessons_refuses(case: str):
    make, text = REFUSED[case]
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        make()


@pytest.mark.parametrize("shape", [(LENGTH, 32), (LENGTH - 1, 64), (1, 64), (LENGTH, 1), (64,)])
def test_rows_of_another_shape_are_refused_where_torch_would_broadcast(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shape_checks, "jaxtyping_disable", True)
    tokens, *_ = drawn()
    with pytest.raises(ValueError, match=re.escape(f"(T, D) = (32, 64), got {shape}")):
        tokens(some_ids(), torch.zeros(shape))


def test_ids_of_another_type_or_shape_are_refused_by_the_demos_table(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(shape_checks, "jaxtyping_disable", True)
    tokens, *_ = drawn()
    with pytest.raises(TypeError, match=r"must be int64, got torch\.int32"):
        tokens(some_ids().int(), None)
    for ids in (some_ids()[0], some_ids()[None]):
        with pytest.raises(ValueError, match=r"must have shape \(B, T\)"):
            tokens(ids, None)
