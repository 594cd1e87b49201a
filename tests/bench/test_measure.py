"""A backend is timed if it is correct; whatever it does, the others are timed."""

import time
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from andrea_exp.bench import measure, rounds
from andrea_exp.bench.cross_entropy import CrossEntropyTask
from andrea_exp.bench.embedding import EmbeddingTask
from andrea_exp.bench.measure import REFERENCE, rows
from andrea_exp.kernel.backend import BackendConfig, Use
from andrea_exp.kernel.cross_entropy.torch import losses
from andrea_exp.kernel.embedding.torch import embed
from andrea_exp.record.bench import Row
from tests.bench.given import gauge, given, tiny


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few rounds as there can be."""
    monkeypatch.setattr(measure, "BUDGET_MS", 0.0)


def compared(**others: BackendConfig) -> dict[str, Row]:
    task = EmbeddingTask(tiny())
    found = rows(task, {REFERENCE: given(embed), **others}, gauge())
    assert [row.backend for row in found] == [REFERENCE, *others]
    assert found[0].outcome == "timed"
    return {row.backend: row for row in found}


def slow(ids: Tensor, table: Tensor, rows: Tensor | None, *, multiplier: float) -> Tensor:
    time.sleep(0.005)
    return embed(ids, table, rows, multiplier=multiplier)


def shifted(ids: Tensor, table: Tensor, rows: Tensor | None, *, multiplier: float) -> Tensor:
    assert rows is not None
    return embed(ids, table, rows.roll(1, 0), multiplier=multiplier)


def without_gradient(
    ids: Tensor, table: Tensor, rows: Tensor | None, *, multiplier: float
) -> Tensor:
    """The right output, and half of one gradient."""
    assert rows is not None
    return embed(ids, table, (rows + rows.detach()) / 2, multiplier=multiplier)


def greedy(ids: Tensor, table: Tensor, rows: Tensor | None, *, multiplier: float) -> Tensor:
    """The right output and gradients, over a ruined table."""
    output = embed(ids, table, rows, multiplier=multiplier)
    table.detach().zero_()
    return output


def broken(*_given: Tensor | None, multiplier: float) -> Tensor:
    assert multiplier == 1
    raise RuntimeError("no such instruction\nlong story")


def halved(ids: Tensor, table: Tensor, rows: Tensor | None, *, multiplier: float) -> Tensor:
    return embed(ids, table, rows, multiplier=multiplier).bfloat16()


def test_a_correct_backend_is_timed_beside_the_reference():
    found = compared(slow=given(slow))
    own, reference = found["slow"], found[REFERENCE]
    assert (own.outcome, own.reasons, own.runs_as) == ("timed", [], "given (by a test)")
    assert own.rounds == reference.rounds == rounds.FEWEST
    for mine, its in (
        (own.forward, reference.forward),
        (own.forward_backward, reference.forward_backward),
    ):
        assert mine is not None
        assert its is not None
        assert mine.ms_q1 <= mine.ms_median <= mine.ms_q3
        assert mine.ratio_q1 is not None
        assert mine.ratio_to_torch is not None
        assert mine.ratio_q1 <= mine.ratio_to_torch
        assert its.ratio_to_torch == its.ratio_q1 == its.ratio_q3 == 1
        assert mine.moved_bytes == its.moved_bytes
        assert mine.fraction_of_copy == pytest.approx(mine.gb_per_s / 10)
        assert mine.tflop_per_s is None
        assert mine.fraction_of_product is None
        assert mine.peak_memory_bytes == its.peak_memory_bytes
        assert mine.peak_memory_bytes
    assert own.bits_repeat is True
    assert own.agreement == reference.agreement
    assert own.backward_ms_median is not None


def test_products_are_counted_where_there_are_some():
    task = CrossEntropyTask(tiny())
    (row,) = rows(task, {REFERENCE: given(losses)}, gauge())
    assert row.forward is not None
    assert row.forward_backward is not None
    assert row.forward.tflop_per_s == pytest.approx(
        2 * 3 * 10 * 12 * 37 / row.forward.ms_median / 1e9
    )
    assert row.forward.tflop_per_s is not None
    assert row.forward.fraction_of_product == pytest.approx(row.forward.tflop_per_s / 0.1)


@pytest.mark.parametrize(
    ("kernel", "result"),
    [
        (shifted, "gradient of position rows"),
        (without_gradient, "gradient of position rows"),
        (greedy, "token rows, an input that it changes"),
        (halved, "output"),
    ],
)
def test_a_wrong_backend_is_not_timed_and_its_row_says_why(
    kernel: Callable[..., Tensor], result: str
):
    found = compared(wrong=given(kernel), slow=given(slow))
    row = found["wrong"]
    assert row.outcome == "differs"
    assert row.wrong
    assert row.agreement is not None
    assert row.agreement.result == result
    (why,) = row.reasons
    assert why.startswith(f"{result}: ")
    assert (row.rounds, row.forward, row.forward_backward) == (None, None, None)
    assert found["slow"].outcome == "timed"
    assert not found["slow"].wrong


def test_what_a_backend_raises_is_told_in_one_line():
    row = compared(broken=given(broken))["broken"]
    assert (row.outcome, row.reasons) == ("failed", ["RuntimeError: no such instruction"])
    assert row.wrong


def test_one_that_fails_at_full_size_alone_stops_no_other():
    def too_large(ids: Tensor, *more: Tensor, multiplier: float) -> Tensor:
        if len(ids) > 2:
            raise MemoryError
        return embed(ids, *more, multiplier=multiplier)

    found = compared(large=given(too_large), slow=given(slow))
    assert found["large"].reasons == ["MemoryError: without a message"]
    assert found["slow"].outcome == "timed"


def test_one_that_cannot_run_here_is_not_wrong():
    row = compared(absent=given(broken, refuses=lambda _: ["no GPU", "no luck"]))["absent"]
    assert (row.outcome, row.reasons) == ("cannot", ["no GPU", "no luck"])
    assert row.runs_as is None
    assert not row.wrong


def test_it_is_checked_at_the_sizes_that_it_serves():
    def whole_batches(use: Use) -> list[str]:
        return [] if use.batch == 3 else ["3 sequences or none"]

    def long_ones(use: Use) -> list[str]:
        return [] if use.length > 1 else ["more than one token"]

    found = compared(
        never=given(embed, refuses=whole_batches), sometimes=given(embed, refuses=long_ones)
    )
    assert found["never"].outcome == "failed"
    assert "none of the sizes" in found["never"].reasons[0]
    agreement = found["sometimes"].agreement
    assert agreement is not None
    assert (agreement.sequences, agreement.tokens) == (2, 10)


def test_bits_that_do_not_repeat_are_noticed():
    def noisy(ids: Tensor, *more: Tensor, multiplier: float) -> Tensor:
        output = embed(ids, *more, multiplier=multiplier)
        flips = torch.rand(1, generator=ANY) < 0.5
        return output * (1 + flips * torch.finfo(torch.float32).eps / 4) + flips * 1e-9

    ANY = torch.Generator().manual_seed(3)
    found = [compared(noisy=given(noisy))["noisy"] for _ in range(8)]
    assert {row.outcome for row in found} == {"timed"}
    assert {row.bits_repeat for row in found} == {True, False}
