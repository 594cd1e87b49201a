"""The claims of an experiment in its report: judged as registered, edits told, runs named."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from andrea_exp.evidence.rule import Verdict
from andrea_exp.record.manifest import Status
from andrea_exp.record.reader import survey
from andrea_exp.report.page import page, read
from andrea_exp.report.registration import Registration, registration
from andrea_exp.report.sections import verdicts
from andrea_exp.report.table import table_of
from benchmarks.synthetic_runs import make_run
from tests.claims.experiment import CLAIM

TRUE: dict[str, Any] = {**CLAIM, "name": "alibi_flatter"}
FALSE: dict[str, Any] = {
    **CLAIM,
    "name": "sinusoid_flatter",
    "statement": "The sinusoid rises less than <ALiBi>.",
    "arm": ["position=sinusoidal"],
    "than": ["position=alibi"],
}
OPEN: dict[str, Any] = {**CLAIM, "name": "rope_flatter", "arm": ["position=rope"]}
SEEDS = list(range(8))


def experiment(*claims: dict[str, Any], seeds: list[int] = SEEDS) -> dict[str, Any]:
    return {"seeds": seeds, "claims": list(claims)}


def sweep(folder: Path, *, seeds: list[int] = SEEDS, **changes: Any) -> Path:
    given: dict[str, Any] = {"experiment": experiment(TRUE, FALSE, OPEN), **changes}
    for position in ("alibi", "sinusoidal"):
        for seed in seeds:
            make_run(folder, position=position, seed=seed, **given)
    return folder


def found(folder: Path) -> Registration:
    registered = registration(table_of(survey([folder])))
    assert registered is not None
    return registered


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<svg.*?</svg>|<[^>]+>", " ", html, flags=re.DOTALL))


def test_verdicts_are_told_in_words_and_in_a_table_with_their_runs(tmp_path: Path):
    sweep(tmp_path)
    reached = [each.verdict for each in found(tmp_path).judgements]
    assert reached == [Verdict.confirmed, Verdict.refuted, Verdict.undecided]
    text = text_of(page(read([tmp_path])))
    assert "Of 3 claims, 1 confirmed, 1 refuted and 1 undecided." in text
    assert "Confirmed: ALiBi rises less than the sinusoid. Gain in rise_nats at 2T, block" in text
    assert "Refuted: The sinusoid rises less than &lt;ALiBi&gt;." in text
    assert "Screen: 0 pairs, of which a verdict takes 6; position=rope seed=0 was not run." in text
    for record in survey([tmp_path]).records:
        assert record.recipe_hash in str(verdicts.SECTION.html(table_of(survey([tmp_path]))))


def test_the_undecided_and_the_refuted_stand_beside_the_confirmed(tmp_path: Path):
    html = str(verdicts.SECTION.html(table_of(survey([sweep(tmp_path)]))))
    rows = re.findall(r'<th scope="row">(\w+)</th>\s*<td class="words">(\w+)</td>', html)
    assert rows == [
        ("alibi_flatter", "confirmed"),
        ("sinusoid_flatter", "refuted"),
        ("rope_flatter", "undecided"),
    ]


def test_runs_without_claims_say_so_and_have_no_verdicts_in_the_summary(tmp_path: Path):
    make_run(tmp_path)
    assert registration(table_of(survey([tmp_path]))) is None
    text = text_of(page(read([tmp_path])))
    assert "These runs belong to no experiment with claims." in text
    assert "confirmed" not in text


def test_a_claim_edited_after_the_first_run_is_told_and_not_judged(tmp_path: Path):
    sweep(tmp_path, seeds=SEEDS[:6])
    eased = {**FALSE, "margin": 9.0}
    late = {"experiment": experiment(TRUE, eased, seeds=SEEDS)}
    sweep(tmp_path, seeds=SEEDS[6:], started_at="2026-02-01T00:00:00.000+00:00", **late)
    registered = found(tmp_path)
    assert [each.claim.margin for each in registered.judgements] == [0.1, 0.1, 0.1]
    told = {(each.name, each.what) for each in registered.edited}
    assert told == {
        ("rope_flatter", "removed in 4 of 16 runs"),
        ("sinusoid_flatter", "changed in 4 of 16 runs"),
    }
    assert "Claims were edited after the first run" in text_of(page(read([tmp_path])))


def test_which_claims_came_first_is_told_by_the_start_and_not_by_names(tmp_path: Path):
    late = {"experiment": experiment(FALSE), "started_at": "2026-02-01T00:00:00.000+00:00"}
    sweep(tmp_path, seeds=SEEDS[:4], **late)
    sweep(tmp_path, seeds=SEEDS[4:])
    names = [each.claim.name for each in found(tmp_path).judgements]
    assert names == ["alibi_flatter", "sinusoid_flatter", "rope_flatter"]


def test_seeds_that_were_not_planned_are_exploratory(tmp_path: Path):
    sweep(tmp_path)
    before = found(tmp_path).judgements
    sweep(tmp_path, seeds=[8, 100])
    assert found(tmp_path).judgements == before
    assert found(tmp_path).exploratory == [8, 100]
    text = text_of(page(read([tmp_path])))
    assert "Seeds 8 and 100 were not planned: exploratory, and part of no verdict." in text


def test_claims_that_were_changed_inside_a_run_do_not_have_its_hash(tmp_path: Path):
    sweep(tmp_path)
    assert found(tmp_path).forged == []
    file = next(tmp_path.glob("*alibi*seed=3")) / "config.yaml"
    changed = file.read_text().replace("margin: 0.1", "margin: 0.0", 1)
    assert changed != file.read_text()
    file.write_text(changed)
    assert len(found(tmp_path).forged) == 1
    assert "do not have the hash" in text_of(page(read([tmp_path])))


@pytest.mark.parametrize("status", [Status.nan, Status.failed])
def test_a_lost_run_is_told_at_its_claim(tmp_path: Path, status: Status):
    sweep(tmp_path, seeds=SEEDS[1:])
    make_run(tmp_path, position="alibi", seed=0, status=status, experiment=experiment(TRUE))
    make_run(tmp_path, position="sinusoidal", seed=0, experiment=experiment(TRUE))
    first = next(each for each in found(tmp_path).judgements if each.claim.name == "alibi_flatter")
    assert first.first.missing[0] == f"position=alibi seed=0: {status.name}"
    assert first.verdict is (Verdict.undecided if status is Status.nan else Verdict.confirmed)


def test_strong_skew_is_said_in_words(tmp_path: Path):
    sweep(tmp_path)
    for index, run in enumerate(sorted(tmp_path.glob("*sinusoidal*"))):
        results = json.loads((run / "results.json").read_text())
        for row in results["lengths"]:
            if row["factor"] == 2:
                row["rise_nats"] = 2.0 if index else 40.0
        (run / "results.json").write_text(json.dumps(results))
    assert "strongly skewed" in text_of(page(read([tmp_path])))
