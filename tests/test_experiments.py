"""What is kept of the experiments: every one of conf/ has its page, runs, verdicts and entry."""

import csv
import re
from pathlib import Path

import pytest

from andrea_exp.config.catalogue import groups
from andrea_exp.config.request import request
from experiments.readme import PLACE, README, filled

EXPERIMENTS = Path(__file__).parent.parent / "experiments"
every_experiment = pytest.mark.parametrize("name", groups()["experiment"])


def test_the_readme_has_the_verdicts_of_every_experiment_as_they_are_kept() -> None:
    text = README.read_text(encoding="utf-8")
    assert filled(text) == text
    assert sorted(name for _, name, _ in PLACE.findall(text)) == groups()["experiment"]


def test_a_verdict_that_was_touched_up_would_be_seen() -> None:
    text = README.read_text(encoding="utf-8")
    touched = text.replace("| undecided |", "| confirmed |").replace("| refuted |", "| confirmed |")
    assert touched != text
    assert filled(touched) == text


@every_experiment
def test_every_claim_has_a_verdict_and_every_planned_run_a_line(name: str) -> None:
    asked = request([f"experiment={name}"])
    running, grid = asked.config.running, asked.composed.grid
    lines = (EXPERIMENTS / name / "verdicts.md").read_text(encoding="utf-8").splitlines()[2:]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == [
        claim.statement for claim in running.claims
    ]
    verdicts = {line.split(" | ")[1] for line in lines}
    assert verdicts <= {"confirmed", "refuted", "undecided"}
    with (EXPERIMENTS / name / "runs.csv").open(encoding="utf-8", newline="") as file:
        runs = list(csv.DictReader(file))
    planned = 1
    for values in grid.values():
        planned *= len(values)
    assert len({run["recipe"] for run in runs}) == len(runs) == planned
    assert sorted({int(run["seed"]) for run in runs}) == running.seeds


@every_experiment
def test_the_page_names_every_run_and_holds_nothing_of_the_machine(name: str) -> None:
    page = (EXPERIMENTS / name / "report.html").read_text(encoding="utf-8")
    with (EXPERIMENTS / name / "runs.csv").open(encoding="utf-8", newline="") as file:
        assert all(run["recipe"] in page for run in csv.DictReader(file))
    assert not re.search(r"/(?:home|tmp|root|work|Users)/", page)
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", page)


@every_experiment
def test_the_log_has_a_dated_entry(name: str) -> None:
    log = (EXPERIMENTS / "LOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \d{{4}}-\d\d-\d\d {name}$", log, re.MULTILINE)
