import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch

from andrea_exp.component import Refusal
from andrea_exp.evaluate.config import EvaluationConfig
from andrea_exp.evaluate.length_row import LengthRow, buckets, error_over_windows
from andrea_exp.evaluate.lengths import lengths, loss_at_trained
from andrea_exp.evaluate.score import Scores
from andrea_exp.model.decoder import Decoder
from tests import options

T = 8
TEXT = np.random.default_rng(5).integers(0, 19, 900)


def config(**changes: Any) -> EvaluationConfig:
    small = {"block_targets": 256, "sliding_targets": 64, "anchors": 6, "position_buckets": 4}
    plain = options.values("evaluation", "standard") | small
    return options.typed(EvaluationConfig, plain, **changes)


def built(option: str = "learned", **changes: Any) -> Decoder:
    return options.decoder(
        options.model(context=T),
        position=options.position(option, **changes),
        embedding=options.embedding("table"),
        output=options.output("tied"),
    )


def pick(rows: list[LengthRow], *key: int | str) -> LengthRow:
    (row,) = (row for row in rows if (row.length, row.protocol, row.beyond) == key)
    return row


def test_a_declared_error_is_a_row_that_says_why_beside_the_further_policy():
    rows = lengths(built(), TEXT, config=config())
    found = [(row.length, row.protocol, row.beyond, row.status) for row in rows]
    inside = [(n, p, "error", "ok") for n in (4, 8) for p in ("block", "sliding")]
    past = [
        (n, protocol, policy, status)
        for n in (16, 32, 64)
        for policy, status in (("error", "refused"), ("clamp", "ok"))
        for protocol in ("block", "sliding")
    ]
    assert found == inside + past
    refused = pick(rows, 16, "block", "error")
    assert "16 exceeds the 8 trained positions" in str(refused.reason)
    assert refused.loss_nats is refused.tail_loss_nats is refused.tokens_scored is None


def test_the_declared_policy_is_not_scored_twice():
    rows = lengths(built(beyond="clamp"), TEXT, config=config(beyond=["clamp", "mean"]))
    assert {row.beyond for row in rows if row.length > T} == {"clamp", "mean"}
    assert len([row for row in rows if row.length == 2 * T]) == 4


@pytest.mark.parametrize("option", ["alibi", "sinusoidal", "none"])
def test_schemes_without_trained_rows_have_no_further_policies(option: str):
    model = built(option)
    rows = lengths(model, TEXT, config=config())
    assert len(rows) == 10
    assert {row.beyond for row in rows} == {model.position.past_label()}
    assert all(row.status == "ok" for row in rows)


def test_each_protocol_scores_as_many_targets_at_every_length():
    rows = lengths(built("none"), TEXT, config=config())
    assert {row.tokens_scored for row in rows if row.protocol == "block"} == {256}
    # One segment of twice the longest length.
    assert {row.tokens_scored for row in rows if row.protocol == "sliding"} == {128}


def test_the_trained_length_rises_by_nothing_and_both_protocols_repeat_the_tail():
    rows = lengths(built("none"), TEXT, config=config())
    for row in rows:
        twin = pick(rows, row.length, "block", row.beyond)
        assert (row.tail_loss_nats, row.rise_nats) == (twin.tail_loss_nats, twin.rise_nats)
    at_trained = pick(rows, T, "block", rows[0].beyond)
    assert (at_trained.rise_nats, at_trained.rise_se) == (0.0, 0.0)
    longer = pick(rows, 2 * T, "block", rows[0].beyond)
    assert longer.tail_loss_nats is not None
    assert at_trained.tail_loss_nats is not None
    assert longer.rise_nats == pytest.approx(longer.tail_loss_nats - at_trained.tail_loss_nats)


def test_a_length_below_the_tail_has_no_tail_loss():
    rows = lengths(built("none"), TEXT, config=config(length_factors=[0.25, 1], tail_share=0.5))
    assert rows[0].length == 2
    assert rows[0].loss_nats is not None
    assert rows[0].tail_loss_nats is rows[0].rise_nats is rows[0].rise_se is None


def test_the_loss_is_the_mean_of_plain_losses_over_the_segments():
    model = built("none").eval()
    whole = config(length_factors=[1], block_targets=10**6, sliding_targets=10**6)
    rows = lengths(model, TEXT[: 16 * T + 1], config=whole)
    ids = torch.from_numpy(TEXT[: 16 * T + 1])
    with torch.no_grad():
        plain = model.losses(ids[:-1].view(-1, T), ids[1:].view(-1, T))
        hits = model(ids[:-1].view(-1, T)).argmax(-1) == ids[1:].view(-1, T)
    assert rows[0].loss_nats == pytest.approx(float(plain.mean()), rel=1e-5)
    assert rows[0].accuracy == pytest.approx(float(hits.double().mean()))
    assert loss_at_trained(rows) == rows[0].loss_nats
    assert rows[0].per_position is not None
    by_hand = plain.mean(dim=0).view(4, 2).mean(dim=1)
    assert [bucket.loss_nats for bucket in rows[0].per_position] == pytest.approx(
        by_hand.tolist(), rel=1e-5
    )


def test_the_trained_length_is_scored_even_if_no_factor_names_it():
    rows = lengths(built("none"), TEXT, config=config(length_factors=[2]))
    assert [row.length for row in rows] == [T, T, 2 * T, 2 * T]
    assert [row.factor for row in rows] == [1, 1, 2, 2]


def test_a_text_too_short_for_a_length_refuses_that_length_alone():
    rows = lengths(built("none"), TEXT[:33], config=config())
    assert {row.length for row in rows if row.status == "ok"} == {4, 8, 16, 32}
    refused = pick(rows, 64, "sliding", rows[0].beyond)
    assert "65 validation tokens, there are 33" in str(refused.reason)


def test_a_text_without_one_trained_window_is_refused():
    with pytest.raises(Refusal, match=r"8 tokens.*context=8"):
        lengths(built("none"), TEXT[:T], config=config())
    assert lengths(built("none"), TEXT[: T + 1], config=config())


def test_a_factor_that_gives_no_whole_number_is_refused_by_its_name():
    with pytest.raises(ValueError, match=r"length_factors: 1.3 of model.context=8 is 10.4"):
        config(length_factors=[1.3]).lengths(T)


def test_a_row_is_json_with_the_contracts_keys():
    rows = lengths(built(), TEXT, config=config())
    keys = (
        "length factor protocol stride beyond status reason loss_nats loss_se floor_nats "
        "tail_loss_nats rise_nats rise_se accuracy exact_match tokens_scored per_position"
    )
    for row in rows:
        assert " ".join(dataclasses.asdict(row)) == keys
        assert json.loads(json.dumps(dataclasses.asdict(row), allow_nan=False))


def test_buckets_hold_the_mean_of_their_positions_and_leave_out_empty_ones():
    scores = Scores(
        nats=torch.tensor([1.0, 2.0, 6.0, 3.0]),
        hits=torch.zeros(4, dtype=torch.bool),
        place=torch.tensor([0, 1, 7, 0]),
    )
    found = [dataclasses.astuple(bucket) for bucket in buckets(scores, width=3)]
    assert found == [(0, 3, 2.0, 3, None), (6, 9, 6.0, 1, None)]


def test_the_error_of_a_loss_counts_windows_and_not_targets():
    generator = torch.Generator().manual_seed(1)
    windows = torch.randn(40, 1, generator=generator) + 0.1 * torch.randn(
        40, 8, generator=generator
    )
    place = torch.arange(8).repeat(40)
    found = error_over_windows(Scores(windows.flatten(), place == 0, place))
    expected = windows.double().mean(dim=1).std() / 40**0.5
    assert found == pytest.approx(float(expected), rel=1e-6)
    targets = windows.double().std() / 320**0.5
    assert found is not None
    assert found > 2 * float(targets)


def test_windows_that_score_only_their_ends_are_told_apart_and_one_alone_has_no_error():
    nats = torch.tensor([1.0, 2.0, 3.0, 5.0, 7.0, 9.0])
    ends = torch.tensor([0, 1, 2, 2, 2, 2])
    found = error_over_windows(Scores(nats, nats > 0, ends))
    away = nats.double() - nats.double().mean()
    sums = [float(away[:3].sum()), *away[3:].tolist()]
    assert found == pytest.approx((sum(each**2 for each in sums) * 4 / 3) ** 0.5 / 6)
    assert error_over_windows(Scores(nats, nats > 0, torch.arange(6))) is None
