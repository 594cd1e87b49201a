"""A claim is checked when it is loaded."""

from typing import Any

import pytest

from andrea_exp.claims.metric import length_metrics, number_at
from andrea_exp.component import Refusal
from tests.claims.experiment import claim

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"metric": "rise"}, "metric=rise is no number of a length"),
    ({"metric": "length"}, "metric=length is no number of a length"),
    ({"factor": None, "protocol": None}, "metric=rise_nats: results.json has no 'rise_nats'"),
    ({"protocol": None}, "factor and protocol belong together"),
    (
        {"factor": None, "protocol": None, "metric": "final.val_loss"},
        "no 'val_loss' there; keys: train_loss_nats",
    ),
    ({"factor": None, "protocol": None, "metric": "smoothness.init"}, "is no number"),
    ({"minus": "nothing.there"}, "minus=nothing.there"),
    ({"direction": None}, "direction must be null for kind=within, and lower or higher otherwise"),
    ({"kind": "within"}, "direction must be null for kind=within"),
    ({"kind": "within", "direction": None, "margin": 0}, "margin=0 leaves nothing within it"),
    ({"kind": "solved", "margin": 0}, "threshold must be a number for kind=solved"),
    ({"kind": "solved", "threshold": 0.5}, "has margin=0"),
    ({"kind": "solved", "threshold": 0.5, "margin": 0, "than": None}, "compares two arms"),
    ({"threshold": 0.5}, "threshold must be a number for kind=solved, and null otherwise"),
    ({"kind": "best"}, "kind=best"),
    ({"margin": -0.1}, "margin must be at least 0, got -0.1"),
    ({"margin": float("nan")}, "margin must be at least 0, got nan"),
    ({"arm": ["alibi"]}, "'alibi' must be a word key=value"),
    ({"arm": ["position=alibi", "position=rope"]}, "arm says position= twice"),
    ({"than": ["output=tied", "output=tied"]}, "than says output= twice"),
    ({"arm": ["position=alibi", "seed=0"]}, "arm names a seed, but an arm is all of its seeds"),
    ({"arm": ["a=1", "b=2"], "than": ["b=2", "a=1"]}, "arm and than are the same"),
    ({"name": "two words"}, "name='two words' must be one word"),
    ({"name": ""}, "name='' must be one word"),
    ({"statement": " "}, "statement and source must say something"),
    ({"source": ""}, "statement and source must say something"),
    ({"factor": 1.0}, "metric=rise_nats is 0 at factor=1"),
    ({"factor": 1.0, "metric": "rise_se"}, "metric=rise_se is 0 at factor=1"),
    ({"arm": []}, "arm and than name an arm by words"),
    ({"than": []}, "arm and than name an arm by words"),
    ({"than": ["position=alibi"]}, "arm and than are the same"),
    ({"weight": 1}, "unknown key claims[0].weight=1"),
]


@pytest.mark.parametrize(("changes", "told"), WRONG, ids=lambda value: str(value)[:60])
def test_a_wrong_claim_is_refused_with_what_is_wrong(changes: dict[str, Any], told: str):
    with pytest.raises(Refusal) as refusal:
        claim(**changes)
    assert str(refusal.value).startswith(("claims[0]", "unknown key claims[0]"))
    assert told in str(refusal.value)


def test_right_claims_of_every_kind_are_taken():
    claim()
    claim(kind="within", direction=None)
    claim(kind="solved", margin=0, threshold=0.9, metric="accuracy", direction="higher")
    claim(than=None)
    path = {"factor": None, "protocol": None}
    claim(
        metric="smoothness.trained.d2_over_d1", minus="smoothness.controls.iid.d2_over_d1", **path
    )
    claim(metric="cost.total", **path)


def test_the_numbers_of_a_length_are_those_that_are_measured():
    assert {"loss_nats", "tail_loss_nats", "rise_nats", "accuracy"} <= set(length_metrics())
    assert not {"length", "stride", "reason", "beyond"} & set(length_metrics())


def test_a_path_that_was_not_measured_is_none():
    results = {"smoothness": {"init": None, "trained": {"d1": 0.5, "k95": 3}}}
    assert number_at(results, "smoothness.trained.d1") == 0.5
    assert number_at(results, "smoothness.trained.k95") == 3
    assert number_at(results, "smoothness.init.d1") is None
    assert number_at(results, "geometry.pairs") is None
