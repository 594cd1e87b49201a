"""Every backend of `embedding` against a product with one-hot rows in float64."""

import dataclasses
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from andrea_exp.kernel.embedding.base import EmbeddingOp
from andrea_exp.kernel.embedding.sinusoid import Sinusoid, written
from andrea_exp.kernel.embedding.torch import embed
from tests.kernel.contract import (
    DEVICE,
    SIZES,
    assert_as_exact_as_torch,
    errors,
    noise,
    results,
    strided,
)
from tests.kernel.embedding.backends import NAMES, OPERATORS, built

BATCH, VOCAB = 2, 19
# Of these, 24 and 8 are whole loads of 16 bytes in every precision, and 520 is more than a block.
WIDTH = dict(zip(SIZES, [520, 6, 24, 8], strict=True))
FAR = 100_000
every_backend = pytest.mark.parametrize("name", NAMES)
every_operator = pytest.mark.parametrize("name", OPERATORS)
every_length = pytest.mark.parametrize("length", SIZES)
every_kind = pytest.mark.parametrize("kind", ["none", "written", "computed"])
every_multiplier = pytest.mark.parametrize("multiplier", [1.0, 2.5])


@dataclasses.dataclass(frozen=True)
class Inputs:
    """What one call is about; the tensors ask for gradients."""

    ids: Tensor
    table: Tensor
    rows: Tensor | Sinusoid | None

    def wanted(self) -> list[Tensor]:
        return [self.table, self.rows] if isinstance(self.rows, Tensor) else [self.table]

    def by(self, operation: Callable[..., Tensor], *, multiplier: float) -> Tensor:
        return operation(self.ids, self.table, self.rows, multiplier=multiplier)

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Inputs":
        """The same call with each tensor changed."""

        def leaf(tensor: Tensor) -> Tensor:
            return change(tensor.detach()).requires_grad_()

        if isinstance(self.rows, Sinusoid):
            rows = dataclasses.replace(self.rows, index=change(self.rows.index))
        else:
            rows = None if self.rows is None else leaf(self.rows)
        return Inputs(change(self.ids), leaf(self.table), rows)


def some_ids(length: int) -> Tensor:
    """The first, the last and most others, some of them more than once."""
    ids = torch.arange(BATCH * length, device=DEVICE).view(BATCH, length) * 5 % (VOCAB - 2)
    return torch.where(ids == 5, VOCAB - 1, ids)


def inputs(
    length: int, kind: str, dtype: torch.dtype = torch.float64, *, width: int | None = None
) -> Inputs:
    width = width or WIDTH[length]
    rows = {
        "none": None,
        "written": noise(length, width, seed=1, dtype=dtype).requires_grad_(),
        "computed": formula(length, width=width),
    }
    table = noise(VOCAB, width, seed=0, dtype=dtype).requires_grad_()
    return Inputs(some_ids(length), table, rows[kind])


def formula(length: int, *, width: int, start: int = 0) -> Sinusoid:
    index = start + torch.arange(length, device=DEVICE).flip(0)
    return Sinusoid(index=index, width=width, base=10_000.0, multiplier=0.75)


def naive(
    ids: Tensor, table: Tensor, rows: Tensor | Sinusoid | None, *, multiplier: float
) -> Tensor:
    vectors = multiplier * (F.one_hot(ids, VOCAB).to(table) @ table)
    return vectors if rows is None else vectors + written(rows, dtype=table.dtype)


@every_length
@every_kind
@every_multiplier
@every_backend
def test_output_and_gradients_in_float64_are_those_of_the_definition(
    name: str, multiplier: float, kind: str, length: int
):
    operation, given = built(name, torch.float64), inputs(length, kind)
    found = results(given.by(operation, multiplier=multiplier), given.wanted())
    true = results(given.by(naive, multiplier=multiplier), given.wanted())
    assert max(errors(found, true)) < 1e-12


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@every_length
@every_kind
@every_multiplier
@every_backend
def test_no_backend_is_less_exact_than_torch(
    name: str, multiplier: float, kind: str, length: int, dtype: torch.dtype
):
    operation, given = built(name, dtype), inputs(length, kind, dtype)
    exact = inputs(length, kind)
    assert_as_exact_as_torch(
        results(given.by(operation, multiplier=multiplier), given.wanted()),
        results(given.by(embed, multiplier=multiplier), given.wanted()),
        results(exact.by(naive, multiplier=multiplier), exact.wanted()),
    )


@every_backend
def test_the_sum_in_float32_is_bit_equal_to_one_addition(name: str):
    operation, given = built(name), inputs(63, "written", torch.float32)
    assert isinstance(given.rows, Tensor)
    expected = given.table[given.ids] + given.rows
    assert torch.equal(given.by(operation, multiplier=1.0), expected)


def angles_in_float32(ids: Tensor, table: Tensor, rows: Sinusoid, *, multiplier: float) -> Tensor:
    pair = torch.arange(rows.width // 2, device=DEVICE)
    angle = rows.index.float()[:, None] * rows.base ** (-2 * pair / rows.width)
    sines = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    return embed(ids, table, rows.multiplier * sines, multiplier=multiplier)


@pytest.mark.parametrize("start", [0, 1_000, FAR])
@every_backend
def test_far_positions_have_their_sines_too(name: str, start: int):
    operation, ids = built(name), some_ids(63)
    table = torch.zeros(VOCAB, 24, device=DEVICE)
    rows = formula(63, width=24, start=start)
    true = rows.write(torch.float64).expand(BATCH, -1, -1)
    by_torch = embed(ids, table, rows, multiplier=1.0)
    found = operation(ids, table, rows, multiplier=1.0)
    assert_as_exact_as_torch([found], [by_torch], [true])
    if start == FAR:
        wrong = angles_in_float32(ids, table, rows, multiplier=1.0)
        with pytest.raises(AssertionError, match="off by"):
            assert_as_exact_as_torch([wrong], [by_torch], [true])


SABOTEURS: dict[str, Callable[[Inputs], Tensor]] = {
    "rows scaled too": lambda given: 2.5 * given.by(naive, multiplier=1.0),
    "multiplier ignored": lambda given: given.by(naive, multiplier=1.0),
    "rows one late": lambda given: naive(given.ids, given.table, late(given.rows), multiplier=2.5),
    "ids one off": lambda given: naive(
        (given.ids + 1) % VOCAB, given.table, given.rows, multiplier=2.5
    ),
}


def late(rows: Tensor | Sinusoid | None) -> Tensor:
    assert rows is not None
    return written(rows, dtype=torch.float64).roll(1, 0)


@pytest.mark.parametrize("kind", ["written", "computed"])
@pytest.mark.parametrize("saboteur", SABOTEURS)
@every_backend
def test_a_wrong_row_or_factor_is_noticed(name: str, saboteur: str, kind: str):
    operation, given = built(name, torch.float64), inputs(63, kind)
    found = given.by(operation, multiplier=2.5)
    assert errors([found], [SABOTEURS[saboteur](given)])[0] > 0.1


@every_backend
def test_gradients_of_whole_numbers_are_exact(name: str):
    ids = torch.tensor([[1, 2, 1], [1, 0, 4]], device=DEVICE)
    drawn = inputs(3, "written", torch.float32, width=8)
    given = dataclasses.replace(drawn, ids=ids)
    output = given.by(built(name), multiplier=1.0)
    table, rows = torch.autograd.grad(output.sum(), given.wanted())
    assert table[:, 0].tolist() == [1, 3, 1, 0, 1] + [0] * (VOCAB - 5)
    assert (rows == BATCH).all()


def gradient_of_places(operation: EmbeddingOp, ids: Tensor, *, width: int) -> Tensor:
    """Of each table row, where place p of the batch has gradient p + 1 in every feature."""
    table = torch.zeros(VOCAB, width, device=DEVICE, requires_grad=True)
    upstream = 1 + torch.arange(ids.numel(), device=DEVICE, dtype=torch.float32)
    output = operation(ids, table, None, multiplier=1.0)
    (gradient,) = torch.autograd.grad(output, table, upstream.view_as(ids)[..., None] + 0 * output)
    return gradient


@pytest.mark.parametrize("width", [8, 3])
@every_backend
def test_ids_that_are_rare_frequent_or_absent_have_every_occurrence_once(name: str, width: int):
    counts = torch.tensor([0, 1, 31, 32, 33, 0, 64, 65, 2, 30, 97, 0, 0, 3, 128, 0, 1, 25, 0])
    ids = torch.arange(VOCAB).repeat_interleave(counts)
    order = torch.randperm(len(ids), generator=torch.Generator().manual_seed(0))
    ids = ids[order].view(4, -1).to(DEVICE)
    found = gradient_of_places(built(name), ids, width=width)
    places = 1 + torch.arange(ids.numel(), device=DEVICE)
    expected = [int(places[ids.flatten() == row].sum()) for row in range(VOCAB)]
    assert found.tolist() == [[float(each)] * width for each in expected]
    ids[0, 0] = 0  # one occurrence in another row
    assert gradient_of_places(built(name), ids, width=width).tolist() != found.tolist()


@every_backend
def test_one_id_everywhere_and_one_token_alone_work_too(name: str):
    operation = built(name)
    everywhere = torch.full((3, 111), VOCAB - 1, device=DEVICE)
    for ids in (everywhere, strided(everywhere)):
        found = gradient_of_places(operation, ids, width=8)
        assert found[-1].tolist() == [333 * 334 / 2] * 8
        assert not found[:-1].any()
    alone = torch.tensor([[7]], device=DEVICE)
    assert gradient_of_places(operation, alone, width=8)[7].tolist() == [1.0] * 8


@every_kind
@every_multiplier
@every_backend
def test_gradients_are_those_of_finite_differences(name: str, multiplier: float, kind: str):
    operation, drawn = built(name, torch.float64), inputs(3, kind, width=2)
    ids = drawn.ids % 4

    def call(table: Tensor, *rows: Tensor) -> Tensor:
        return operation(ids, table, rows[0] if rows else drawn.rows, multiplier=multiplier)

    table = drawn.table.detach()[:4].clone().requires_grad_()
    assert torch.autograd.gradcheck(call, [table, *drawn.wanted()[1:]])


def offset(tensor: Tensor) -> Tensor:
    """The same values, at an address that is no multiple of 16 bytes."""
    return torch.cat([tensor.flatten()[:1], tensor.flatten()])[1:].view_as(tensor)


@pytest.mark.parametrize("placed", [strided, offset])
@pytest.mark.parametrize("kind", ["written", "computed"])
@every_backend
def test_inputs_may_lie_anyhow_and_are_left_alone(
    name: str, kind: str, placed: Callable[[Tensor], Tensor]
):
    operation, given = built(name), inputs(111, kind, torch.float32)
    apart, kept = given.changed(placed), given.changed(torch.clone)
    plain = results(given.by(operation, multiplier=2.5), given.wanted())
    found = results(apart.by(operation, multiplier=2.5), apart.wanted())
    assert all(torch.equal(one, other) for one, other in zip(found, plain, strict=True))
    assert torch.equal(apart.ids, kept.ids)
    for one, other in zip(apart.wanted(), kept.wanted(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("length", [63, 111])
@every_kind
@every_backend
def test_every_number_is_written_and_two_runs_are_equal(
    name: str, kind: str, length: int, monkeypatch: pytest.MonkeyPatch
):
    operation, given = built(name), inputs(length, kind, torch.float32)
    plain = results(given.by(operation, multiplier=2.5), given.wanted())
    torch.use_deterministic_algorithms(True)
    try:  # new memory is full of NaN
        monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", True)
        assert torch.empty(3).isnan().all()
        poisoned = results(given.by(operation, multiplier=2.5), given.wanted())
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(one, other) for one, other in zip(plain, poisoned, strict=True))


@pytest.mark.parametrize("shape", [(0, 5), (2, 0)])
@every_backend
def test_no_tokens_give_no_vectors_and_a_gradient_of_zeros(name: str, shape: tuple[int, int]):
    ids = torch.zeros(shape, dtype=torch.int64, device=DEVICE)
    table = torch.ones(VOCAB, 8, device=DEVICE, requires_grad=True)
    vectors = built(name)(ids, table, formula(shape[1], width=8), multiplier=1.0)
    assert vectors.shape == (*shape, 8)
    (gradient,) = torch.autograd.grad(vectors.sum(), table)
    assert not gradient.any()


@pytest.mark.skipif(DEVICE.type != "cpu", reason="an assertion ends a GPU's process")
@pytest.mark.parametrize("wrong", [-1, VOCAB])
@every_backend
def test_an_id_outside_the_table_is_refused_with_the_range(name: str, wrong: int):
    ids = some_ids(63)
    ids[1, 40] = wrong
    with pytest.raises(ValueError, match=rf"token id {wrong} is outside 0\.\.18"):
        built(name)(ids, torch.zeros(VOCAB, 8), None, multiplier=1.0)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32])
@every_backend
def test_ids_of_another_type_are_refused(name: str, dtype: torch.dtype):
    ids, table = torch.zeros(2, 3, dtype=dtype, device=DEVICE), torch.zeros(VOCAB, 8, device=DEVICE)
    with pytest.raises(TypeError, match=f"token ids must be int64, got {dtype}"):
        built(name)(ids, table, None, multiplier=1.0)


def test_rows_of_sine_and_cosine_have_an_even_width():
    with pytest.raises(ValueError, match="even width, got 7"):
        formula(3, width=7)


@every_operator
def test_rows_of_another_size_or_type_are_refused(name: str):
    operation, given = built(name), inputs(63, "none", torch.float32)
    with pytest.raises(ValueError, match=r"\(T, E\) = \(63, 6\), got \(1, 6\)"):
        operation(given.ids, given.table, torch.zeros(1, 6, device=DEVICE), multiplier=1.0)
    with pytest.raises(ValueError, match=r"\(T, E\) = \(63, 6\), got \(62, 6\)"):
        operation(given.ids, given.table, formula(62, width=6), multiplier=1.0)
    rows = torch.zeros(63, 6, device=DEVICE, dtype=torch.float64)
    with pytest.raises(TypeError, match=r"dtype torch\.float32, got torch\.float64"):
        operation(given.ids, given.table, rows, multiplier=1.0)


@every_backend
def test_autocast_changes_nothing(name: str):
    operation, given = built(name), inputs(63, "written", torch.float32)
    plain = results(given.by(operation, multiplier=2.5), given.wanted())
    with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
        output = given.by(operation, multiplier=2.5)
    assert output.dtype == torch.float32
    assert max(errors(results(output, given.wanted()), plain)) == 0


@every_kind
@every_operator
def test_a_compiled_step_is_one_graph_and_gives_the_same(name: str, kind: str):
    operation, given = built(name), inputs(63, kind, torch.float32)
    torch.compiler.reset()
    compiled = torch.compile(operation, backend="aot_eager", fullgraph=True)
    found = results(given.by(compiled, multiplier=2.5), given.wanted())
    plain = results(given.by(operation, multiplier=2.5), given.wanted())
    assert max(errors(found, plain)) == 0


@every_operator
def test_torch_finds_the_operators_well_formed(name: str):
    built(name)
    given = inputs(3, "written", torch.float32, width=8)
    space = torch.ops.andrea_exp
    forward, backward = (
        getattr(space, f"{name}_embedding{part}").default for part in ("", "_table_gradient")
    )
    factors = {"base": 50.0, "amplitude": 0.5, "multiplier": 2.5}
    for rows, index in (
        (None, None),
        (given.rows, None),
        (None, torch.arange(3, device=DEVICE)),
    ):
        torch.library.opcheck(forward, (given.ids, given.table, rows, index), factors)
    upstream = torch.ones(BATCH, 3, 8, device=DEVICE)
    torch.library.opcheck(backward, (given.ids, upstream), {"vocab": VOCAB, "multiplier": 2.5})
