"""Every policy past the trained length, on a table of four rows that can be worked out by hand."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from andrea_exp.position.beyond import Beyond, rows_past

TRAINED, LONGER = 4, 6
ROWS = torch.tensor([[1.0, 10.0, -2.0], [3.0, 20.0, 0.0], [5.0, 60.0, 4.0], [11.0, -10.0, 2.0]])
UNTRAINED = torch.full((LONGER - TRAINED, 3), float("nan"))
TABLES = {"as long": ROWS, "longer": torch.cat([ROWS, UNTRAINED])}

# Seven positions over four rows; interpolation steps by (4-1)/(7-1) = one half.
EXPECTED = {
    Beyond.clamp: [*ROWS.tolist(), [11, -10, 2], [11, -10, 2], [11, -10, 2]],
    Beyond.wrap: [*ROWS.tolist(), [1, 10, -2], [3, 20, 0], [5, 60, 4]],
    Beyond.zero: [*ROWS.tolist(), [0, 0, 0], [0, 0, 0], [0, 0, 0]],
    Beyond.mean: [*ROWS.tolist(), [5, 20, 1], [5, 20, 1], [5, 20, 1]],
    Beyond.interpolate: [
        [1, 10, -2],
        [2, 15, -1],
        [3, 20, 0],
        [4, 40, 2],
        [5, 60, 4],
        [8, 25, 3],
        [11, -10, 2],
    ],
}
SERVED = list(EXPECTED)
INSIDE = [*SERVED, Beyond.error, Beyond.window]
Read = Callable[[Tensor, Tensor, int], Tensor]


def read(
    policy: Beyond, *, table: Tensor, index: list[int] | None = None, length: int = 7
) -> Tensor:
    places = torch.arange(length) if index is None else torch.tensor(index)
    return rows_past(policy, table=table, trained=TRAINED, index=places, length=length)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("policy", SERVED)
def test_seven_positions_over_four_rows(policy: Beyond, table: str):
    assert read(policy, table=TABLES[table]).tolist() == EXPECTED[policy]


@pytest.mark.parametrize("policy", SERVED)
@pytest.mark.parametrize("other", SERVED)
def test_no_policy_passes_for_another(policy: Beyond, other: Beyond):
    same = read(policy, table=ROWS).tolist() == EXPECTED[other]
    assert same == (policy is other)


SABOTEURS: dict[Beyond, Read] = {
    Beyond.clamp: lambda table, index, _: F.embedding(index.clamp(max=TRAINED - 2), table),
    Beyond.wrap: lambda table, index, _: F.embedding(index % (TRAINED - 1), table),
    Beyond.interpolate: lambda table, index, length: F.interpolate(
        table.T[None], size=length, mode="linear", align_corners=False
    )[0].T[index],
    Beyond.zero: lambda table, index, _: F.pad(table, (0, 0, 0, 3), value=1e-6)[index],
    Beyond.mean: lambda table, index, _: torch.cat([table, table.median(0).values.expand(3, 3)])[
        index
    ],
}


@pytest.mark.parametrize("policy", SERVED)
def test_a_near_miss_of_each_policy_is_told_apart(policy: Beyond):
    missed = SABOTEURS[policy](ROWS, torch.arange(7), 7)
    assert missed.tolist() != EXPECTED[policy]


@pytest.mark.parametrize("policy", SERVED)
def test_any_selection_of_positions_reads_the_same_rows(policy: Beyond):
    index = [6, 2, 5, 5]
    chosen = read(policy, table=ROWS, index=index)
    assert chosen.tolist() == [EXPECTED[policy][place] for place in index]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("length", [1, 3, TRAINED])
@pytest.mark.parametrize("policy", INSIDE)
def test_inside_the_trained_length_every_policy_reads_the_rows_bit_for_bit(
    *, policy: Beyond, length: int, table: str
):
    noise = torch.randn(LONGER, 3, generator=torch.Generator().manual_seed(0))
    noise[TRAINED:] = float("nan")
    rows = read(policy, table=noise[: len(TABLES[table])], length=length)
    assert torch.equal(rows, noise[:length])


@pytest.mark.parametrize("policy", [Beyond.error, Beyond.window])
@pytest.mark.parametrize("table", TABLES)
def test_a_policy_without_later_rows_says_so(policy: Beyond, table: str):
    with pytest.raises(
        ValueError, match=f"`{policy.name}` .* position 6; .* {TRAINED} trained rows"
    ):
        read(policy, table=TABLES[table])


def test_a_table_of_one_row_can_be_stretched():
    row = ROWS[:1]
    for length in (1, 3):
        index = torch.arange(length)
        rows = rows_past(Beyond.interpolate, table=row, trained=1, index=index, length=length)
        assert torch.equal(rows, row.expand(length, 3))


@pytest.mark.parametrize("policy", SERVED)
@pytest.mark.parametrize("length", [TRAINED, 9])
def test_rows_that_were_never_trained_get_no_gradient(policy: Beyond, length: int):
    table = torch.randn(LONGER, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    read(policy, table=table, length=length).square().sum().backward()
    assert table.grad is not None
    assert (table.grad[:TRAINED] != 0).all()
    assert (table.grad[TRAINED:] == 0).all()


@pytest.mark.parametrize("policy", INSIDE)
def test_gradients_inside_the_trained_length_are_those_of_plain_reading(policy: Beyond):
    table = ROWS.clone().requires_grad_()
    upstream = torch.randn(TRAINED, 3, generator=torch.Generator().manual_seed(0))
    (read(policy, table=table, length=TRAINED) * upstream).sum().backward()
    assert table.grad is not None
    assert torch.equal(table.grad, upstream)
