"""From runs to verdicts: pairs by seed, the family, and everything that stands in the way."""

from typing import Any

import numpy as np
import pytest
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

from andrea_exp.claims.judge import Judgement, judge
from andrea_exp.evidence.rule import Verdict
from andrea_exp.record.manifest import Status
from andrea_exp.record.reader import RunRecord
from tests.claims.experiment import SEEDS, arms, claim, record

LOW = [0.01, 0.03, 0.0, 0.02, 0.05, 0.01, 0.04, 0.02]
HIGH = [0.9, 1.2, 1.0, 1.1, 0.8, 1.3, 1.0, 0.7]


def one(records: list[RunRecord], **changes: object) -> Judgement:
    (found,) = judge([claim(**changes)], records, seeds=SEEDS)
    return found


def test_a_gain_beyond_the_margin_is_confirmed_with_scipys_numbers():
    found = one(arms(LOW, HIGH))
    gains = np.array(HIGH) - np.array(LOW)
    assert found.verdict is Verdict.confirmed
    assert found.differences == pytest.approx(gains.tolist())
    assert found.mean == pytest.approx(float(gains.mean()))
    test: Any = stats.ttest_1samp(gains, 0.1)
    assert found.p == found.adjusted_p == pytest.approx(test.pvalue)
    expected = stats.ttest_1samp(gains, 0).confidence_interval(0.95)
    assert found.interval == pytest.approx((float(expected.low), float(expected.high)))
    assert found.sign_p == 2 / 2**8
    assert (found.why, found.skewed) == ("", False)


def test_the_same_runs_refute_the_opposite():
    words = {"arm": ["position=sinusoidal"], "than": ["position=alibi"]}
    assert one(arms(LOW, HIGH), **words).verdict is Verdict.refuted
    assert one(arms(HIGH, LOW)).verdict is Verdict.refuted
    assert one(arms(LOW, HIGH), direction="higher").verdict is Verdict.refuted


def test_pairs_are_by_seed_whatever_the_order_of_the_runs():
    records = arms(LOW, HIGH)
    mixed = [records[place] for place in np.random.default_rng(1).permutation(len(records))]
    assert one(mixed) == one(records)


def test_a_seed_that_one_side_lacks_is_left_out_and_told():
    records = [each for each in arms(LOW, HIGH) if each.name != "alibi-3"]
    found = one(records)
    assert found.seeds == [0, 1, 2, 4, 5, 6, 7]
    assert found.first.missing == {3: "position=alibi seed=3 was not run"}
    assert found.verdict is Verdict.confirmed
    assert "alibi3" not in "".join(found.runs)
    assert "sinusoidal3" not in "".join(found.runs)


def test_fewer_than_six_pairs_are_a_screen():
    found = one([each for each in arms(LOW, HIGH) if each.config["seed"] < 5])
    assert found.verdict is Verdict.undecided
    assert found.why.startswith("screen: 5 pairs, of which a verdict takes 6")
    assert found.adjusted_p == 1
    assert found.mean is not None


def test_seeds_that_were_not_planned_do_not_count():
    records = arms([*LOW, -50.0], [*HIGH, 60.0])
    assert one(records) == one(arms(LOW, HIGH))


def test_a_diverged_run_leaves_its_claim_undecided_however_clear_the_others_are():
    records = [
        record("alibi", 3, status=Status.nan) if each.name == "alibi-3" else each
        for each in arms(LOW, HIGH)
    ]
    found = one(records)
    assert found.verdict is Verdict.undecided
    assert found.why == "diverged: position=alibi seed=3"
    assert found.adjusted_p == 1


@pytest.mark.parametrize("status", [Status.failed, Status.pending, Status.interrupted])
def test_a_run_without_an_end_is_a_missing_seed_with_its_status(status: Status):
    records = arms(LOW, HIGH)
    records[2] = record("alibi", 2, status=status)
    found = one(records)
    assert found.first.missing == {2: f"position=alibi seed=2: {status.name}"}
    assert found.verdict is Verdict.confirmed


def test_claims_that_cannot_be_tested_keep_their_place_in_the_family():
    weak = [0.1 + step for step in (0.3, 0.5, -0.05, 0.4, 0.1, 0.35, 0.2, 0.02)]
    records = arms([0.0] * 8, weak)
    assert one(records).verdict is Verdict.confirmed
    absent = [claim(name=f"absent{i}", arm=["position=rope"]) for i in range(8)]
    found = judge([claim(), *absent], records, seeds=SEEDS)
    assert found[0].verdict is Verdict.undecided
    assert found[0].adjusted_p == pytest.approx(9 * one(records).p)
    assert found[0].level == pytest.approx(1 - 0.05 / 9)
    assert all(each.adjusted_p == 1 for each in found[1:])


def test_words_that_name_two_runs_of_a_seed_decide_nothing():
    twins = [record("alibi", seed, lr=0.001) for seed in SEEDS]
    found = one([*arms(LOW, HIGH), *twins])
    assert found.verdict is Verdict.undecided
    assert "position=alibi names 2 different runs of seed 0" in found.first.missing[0]
    words = ["position=alibi", "optimizer.lr=3e-3"]
    assert one([*arms(LOW, HIGH), *twins], arm=words).verdict is Verdict.confirmed


def test_a_policy_is_read_past_the_trained_length_and_the_declared_one_otherwise():
    rises = {"error": 9.0, "clamp": 0.01, "wrap": 2.0}
    records = [
        *(record("learned", seed, rises=rises) for seed in SEEDS),
        *(record("sinusoidal", seed, rises={"formula": HIGH[seed]}) for seed in SEEDS),
    ]
    clamp = one(records, arm=["position=learned", "beyond=clamp"])
    assert set(clamp.first.values.values()) == {0.01}
    assert set(one(records, arm=["position=learned"]).first.values.values()) == {9.0}
    at_trained = {"factor": 1.0, "metric": "loss_nats"}
    found = one(records, arm=["position=learned", "beyond=clamp"], **at_trained)
    assert set(found.first.values.values()) == {2.0}
    absent = one(records, arm=["position=learned", "beyond=mean"])
    assert "no row at 2T under beyond=mean" in absent.first.missing[0]


def test_a_refused_length_is_missing_with_its_reason():
    records = arms(LOW, HIGH)
    for each in records:
        if each.choices["position"] == "alibi":
            assert each.results is not None
            each.results["lengths"][1] |= {"rise_nats": None, "reason": "exceeds the rows"}
    found = one(records)
    assert found.verdict is Verdict.undecided
    assert "position=alibi seed=0: exceeds the rows" in found.why


def test_one_arm_alone_is_compared_with_zero():
    records = arms(LOW, HIGH)
    assert one(records, than=None, kind="within", direction=None).verdict is Verdict.confirmed
    risen = {"than": None, "arm": ["position=sinusoidal"], "direction": "higher"}
    assert one(records, **risen).verdict is Verdict.confirmed


def test_a_path_of_the_results_is_read_less_its_value_before():
    path = {
        "factor": None,
        "protocol": None,
        "than": None,
        "direction": "higher",
        "metric": "smoothness.trained.centred_adjacent_cosine",
        "minus": "smoothness.init.centred_adjacent_cosine",
    }
    key = "centred_adjacent_cosine"
    records = [
        record("alibi", seed, smoothness={"init": {key: -0.1}, "trained": {key: 0.1 + seed / 100}})
        for seed in SEEDS
    ]
    found = one(records, **path)
    assert found.differences == pytest.approx([0.2 + seed / 100 for seed in SEEDS])
    assert found.verdict is Verdict.confirmed


def test_solved_or_not_is_counted_and_a_floor_is_no_tie():
    words = {
        "kind": "solved",
        "margin": 0,
        "threshold": 0.1,
        "metric": "rise_nats",
        "direction": "lower",
    }
    found = one(arms(LOW, HIGH), **words)
    assert (found.verdict, found.p, found.sign_p) == (Verdict.confirmed, 2 / 2**8, None)
    floor = one(arms(HIGH, HIGH), **words)
    assert (floor.verdict, floor.why) == (Verdict.undecided, "floor: no seed is solved")
    ceiling = one(arms(LOW, LOW), **words)
    assert (ceiling.verdict, ceiling.why) == (
        Verdict.undecided,
        "floor: both arms solve every seed",
    )


def test_strong_skew_is_flagged():
    gains = [0.2, 0.21, 0.19, 0.2, 0.22, 0.18, 0.2, 3.0]
    assert one(arms([0.0] * 8, gains)).skewed
    assert not one(arms(LOW, HIGH)).skewed


def test_equal_differences_are_decided_by_signs_and_have_a_report():
    found = one(arms([0.0] * 8, [0.5] * 8))
    assert found.verdict is Verdict.confirmed
    assert found.interval == pytest.approx((0.5, 0.5))
