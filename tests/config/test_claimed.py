"""The claims of an experiment beside its grid and its seeds, before anything runs."""

from dataclasses import replace
from typing import Any

import pytest

from andrea_exp.component import Refusal
from andrea_exp.config.catalogue import groups
from andrea_exp.config.claimed import check_claims
from andrea_exp.config.compose import compose
from andrea_exp.config.door import open_door
from andrea_exp.config.request import request
from andrea_exp.config.run import RunConfig
from tests.claims.experiment import CLAIM, claim

GRID = {"position": ["alibi", "sinusoidal"], "seed": ["0", "1"]}


def checked(**changes: Any) -> None:
    asked = request(["model.d_model=16", "model.num_heads=2"])
    running = replace(asked.config.running, seeds=[0, 1], claims=[claim(**changes)])
    config = RunConfig(recipe=asked.config.recipe, running=running)
    check_claims(config, grid=GRID, values=asked.composed.values)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"arm": ["position=aliby"]},
            "claim flat: the grid has no position=aliby; did you mean alibi",
        ),
        ({"than": ["position=rope"]}, "the grid has no position=rope; it has position=alibi,sin"),
        ({"arm": ["position=alibi", "output=tie"]}, "output=tie is no option; did you mean tied"),
        ({"arm": ["optimizer.rate=1"]}, "there is no key optimizer.rate in conf/"),
        (
            {"arm": ["position=alibi", "beyond=clip"]},
            "beyond=clip is no policy past T: error, clamp",
        ),
        (
            {"arm": ["position=alibi", "beyond=wrap"]},
            "beyond=wrap is none of evaluation.beyond=[clamp]; add it there",
        ),
        (
            {"factor": 3.0},
            "factor=3 is none of evaluation.length_factors=[0.5, 1.0, 2.0, 4.0, 8.0]",
        ),
    ],
)
def test_a_claim_about_what_is_not_run_is_refused(changes: dict[str, Any], told: str):
    with pytest.raises(Refusal) as refusal:
        checked(**changes)
    assert told in str(refusal.value)


def test_a_claim_about_what_is_run_is_taken():
    checked()
    checked(arm=["position=alibi", "output=untied", "optimizer.lr=3e-3", "beyond=clamp"])
    checked(factor=1.0, metric="loss_nats")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"claims": [CLAIM, CLAIM], "seeds": [0]}, "claims have a name of their own each"),
        ({"claims": [CLAIM], "seeds": []}, "seeds must name those that the claims"),
        ({"seeds": [3, 3]}, "seeds=[3, 3] names a seed twice"),
        ({"claims": CLAIM}, "claims must be a list"),
        ({"claims": ["flat"]}, "claims[0] must be a group of keys"),
    ],
)
def test_claims_and_seeds_fit_each_other(changes: dict[str, Any], told: str):
    values = {**compose([]).values, **changes}
    with pytest.raises(Refusal) as refusal:
        open_door(values)
    assert told in str(refusal.value)


def test_planned_seeds_are_part_of_the_grid():
    assert compose(["seeds=[4,7]"]).grid == {"seed": ["4", "7"]}
    assert compose([]).grid == {}


@pytest.mark.parametrize("experiment", groups()["experiment"])
def test_every_experiment_composes_and_claims_what_it_runs_and_measures(experiment: str):
    asked = request([f"experiment={experiment}"])
    assert asked.config.running.name == experiment
    assert asked.config.running.question
    assert asked.composed.grid["seed"] == [str(seed) for seed in asked.config.running.seeds]
    assert len(asked.config.running.seeds) >= 8
    assert max(asked.config.running.seeds) < 100
    assert asked.config.running.claims
