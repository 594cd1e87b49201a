"""An anonymous report: whoever made the runs, and wherever, is in none of its bytes."""

import html
import json
from pathlib import Path
from typing import Any

import pytest

from andrea_exp.record.manifest import Status
from andrea_exp.report.__main__ import main
from andrea_exp.report.anonymous import WITHHELD, anonymous
from andrea_exp.report.page import read
from andrea_exp.report.registration import registration
from andrea_exp.report.table import table_of
from benchmarks.synthetic_runs import make_run
from tests.claims.experiment import CLAIM

USER, HOST, HOME = "planted_user", "planted-host", "/home/planted_user"
REMOTE = f"git@{HOST}.example.org:{USER}/secret.git"
TRACES = (USER, HOST, "secret.git", "example.org")
WORDS = f"{USER} at {HOST}, {HOME}/x, {REMOTE}"
PLACES = (
    f"kept before; {HOME}/notes.txt and ~{USER}/y, ({REMOTE}), https://{HOST}/{USER}; kept after"
)


def claims() -> dict[str, Any]:
    """One claim whose sentences, people's words that stay, name places."""
    claim = {**CLAIM, "statement": PLACES, "source": f"arXiv:2104.09864, {REMOTE}"}
    return {"seeds": list(range(6)), "claims": [claim], "question": WORDS, "name": USER}


def planted(folder: Path) -> Path:
    """An experiment and other runs in which every text of a person has all traces."""
    said = (
        f"logger.entity={USER}",
        f"data.path={HOME}/x",
        f"hydra.job.name={HOST}",
        f"name={USER}",
    )
    argv = ("python", "-m", "andrea_exp", "-m", "--config-dir", f"{HOME}/conf", *said)
    for seed in range(6):
        for position in ("alibi", "sinusoidal"):
            given: dict[str, Any] = {"experiment": claims(), "words": said, "argv": argv}
            job = f"{USER}-{HOST}-{position}-{seed}"
            run = make_run(folder, position=position, seed=seed, job=job, **given)
            rewrite(run)
    settings = {"path": [f"{HOME}/a.txt"], "files": REMOTE}
    make_run(folder, name=USER, job=HOST, seed=7, settings=settings, experiment=claims())
    failed = make_run(
        folder, name=USER, job=f"{HOST} failed", seed=8, status=Status.failed, experiment=claims()
    )
    rewrite(failed, failure={"type": "OSError", "message": WORDS})
    broken = make_run(folder, job=f"{USER} broken", seed=9, experiment=claims())
    (broken / "metrics.jsonl").write_text(json.dumps({WORDS: []}) + "\n")
    return folder


def rewrite(run: Path, **changes: Any) -> None:
    """Put traces into the fields of a manifest that programs fill."""
    content = json.loads((run / "manifest.json").read_text())
    content["wandb"] = {"id": USER, "mode": f"online at {HOST}", "directory": f"{HOME}/wandb"}
    content["git"]["patch"] = f"{USER}.patch"
    content["platform"]["system"] = f"Linux 6.1 {HOST}"
    (run / "manifest.json").write_text(json.dumps({**content, **changes}))


def report(folder: Path, *options: str) -> str:
    output = folder.parent / "r.html"
    assert main([str(folder), "--output", str(output), *options]) == 0
    return output.read_text()


def test_no_trace_of_who_and_where_is_left(tmp_path: Path) -> None:
    folder = planted(tmp_path / USER)
    text = report(folder)
    assert [trace for trace in TRACES if trace not in text] == []
    text = report(folder, "--anonymous")
    assert [trace for trace in TRACES if trace in text] == []
    assert str(tmp_path) not in text


def test_verdicts_numbers_and_the_command_of_a_sweep_stay(tmp_path: Path) -> None:
    text = html.unescape(report(planted(tmp_path / USER), "--anonymous"))
    assert f"kept before; {WITHHELD} and {WITHHELD}, ({WITHHELD}), {WITHHELD}; kept after" in text
    assert f"arXiv:2104.09864, {WITHHELD}" in text
    assert "1 confirmed" in text
    assert "OSError" in text
    assert f"python -m andrea_exp -m --config-dir '{WITHHELD}' 'data.path={WITHHELD}'" in text


def test_claims_whose_places_are_withheld_are_not_called_changed(tmp_path: Path) -> None:
    folder = planted(tmp_path / USER)
    found = registration(table_of(anonymous(read([folder]))))
    assert found is not None
    assert found.forged == []
    assert found.edited == []
    file = folder / f"{USER}-{HOST}-alibi-3" / "config.yaml"
    file.write_text(file.read_text().replace("margin: 0.1", "margin: 0.0", 1))
    found = registration(table_of(anonymous(read([folder]))))
    assert found is not None
    assert len(found.forged) == 1


@pytest.mark.parametrize(
    "text",
    ["d2/d1 and T/4", "and/or", "~0.05 nats", "a / b", "arXiv:2104.09864, eq. 3", "2:1", "e.g. x"],
)
def test_words_that_are_no_places_stay(tmp_path: Path, text: str) -> None:
    asked = {"seeds": [0], "claims": [{**CLAIM, "statement": text}]}
    make_run(tmp_path, experiment=asked)
    (record,) = anonymous(read([tmp_path])).records
    assert record.config["claims"][0]["statement"] == text
