"""Results that are JSON and lack a key: the run is shown as damaged, and the report is built."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from andrea_exp.component import Refusal
from andrea_exp.record.reader import Survey, without
from andrea_exp.record.results import IncompleteResults, Part, read_results
from andrea_exp.report.__main__ import main
from andrea_exp.report.jobs import job_states
from andrea_exp.report.page import SECTIONS, drawn, page, read
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import table_of
from benchmarks.synthetic_runs import make_run
from tests.report.test_sections import rows

Place = tuple[str | int, ...]
NEEDED: list[Place] = [
    ("lengths", 0, "length"),
    ("lengths", 0, "factor"),
    ("lengths", 2, "per_position"),
    ("smoothness", "trained", "cosine_by_lag"),
    ("smoothness", "controls", "sinusoid"),
    ("smoothness", "drift", "relative"),
]
"""Keys that sections cannot do without, one of each kind of record."""


def keys(content: Any, *, at: Place = ()) -> Iterator[Place]:
    """Where every key is; of a list, those of its first entry."""
    if isinstance(content, dict):
        for key, inner in content.items():
            yield (*at, key)
            yield from keys(inner, at=(*at, key))
    elif isinstance(content, list) and content:
        yield from keys(content[0], at=(*at, 0))


def written(place: Place) -> str:
    """A place as it is told: `lengths[0].factor`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in place]
    return "".join(parts).removeprefix(".")


def remove(run: Path, place: Place) -> None:
    """Take one key out of a run's results."""
    content = json.loads((run / "results.json").read_text())
    inner = content
    for part in place[:-1]:
        inner = inner[part]
    del inner[place[-1]]
    (run / "results.json").write_text(json.dumps(content))


def test_each_missing_key_is_told_with_its_place_when_it_is_asked_for(single: Path) -> None:
    file = single / "results.json"
    places = list(keys(read_results(file)))
    assert len(places) > 150
    for place in places:
        part: Any = read_results(file)
        for step in place[:-1]:
            part = part[step]
        assert isinstance(part, Part)
        key = str(place[-1])
        del part[key]
        with pytest.raises(IncompleteResults) as refusal:
            part[key]
        assert str(refusal.value).startswith(f"{file} lacks {written(place)};")


def test_the_status_of_a_job_survives_the_loss_of_any_key(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    whole = (run / "results.json").read_text()
    unreadable: list[str] = []
    for place in keys(json.loads(whole)):
        (run / "results.json").write_text(whole)
        remove(run, place)
        (state,) = job_states([run])
        if state.status == "unreadable":
            unreadable.append(written(place))
            assert written(place) in (state.reason or "")
    assert {"schema", "final", "lengths", "lengths[0].factor"} <= set(unreadable)


def test_a_report_shows_which_keys_are_missing_and_all_other_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runs = [make_run(tmp_path, seed=seed) for seed in range(len(NEEDED) + 2)]
    for run, place in zip(runs, NEEDED, strict=False):
        remove(run, place)
    text = page(read([tmp_path]))
    shown = {row[-1]: row for row in rows(text, key="faults")}
    for run, place in zip(runs, NEEDED, strict=False):
        assert shown[run.name][1] == "unreadable"
        assert shown[run.name][2].startswith(f"results.json lacks {written(place)};")
        assert any(f"lacks {written(place)};" in message for message in caplog.messages)
    assert f"{len(NEEDED)} of {len(runs)} runs are missing" in text
    assert str(tmp_path) not in text
    assert [row[0] for row in rows(text, key="cost-parts")] == ["learned, tied"]


@pytest.mark.parametrize("way", [[], ["--anonymous"], ["--picture", "p.svg"]])
def test_where_no_run_is_left_the_key_is_the_refusal(
    way: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    remove(make_run(tmp_path), ("lengths", 0, "factor"))
    assert main([str(tmp_path), *way]) == 2
    assert "results.json lacks lengths[0].factor; remove the file" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.html"))


def test_a_plain_mapping_would_break_the_report(single: Path) -> None:
    found = read([single])
    with pytest.raises(Refusal, match="lacks gone"):
        drawn(found, lambda survey: str((survey.records[0].results or {})["gone"]))
    with pytest.raises(KeyError, match="gone"):
        drawn(found, lambda survey: str(dict(survey.records[0].results or {})["gone"]))


def damages(section: Section, found: Survey) -> Iterator[IncompleteResults]:
    """What a section says of one run after the other, until it can do with those that are left."""
    while True:
        try:
            section.html(table_of(found))
            return
        except IncompleteResults as damage:
            yield damage
            found = without(found, damage)


@pytest.mark.slow
def test_whatever_key_is_missing_no_section_fails_but_by_naming_it(tmp_path: Path) -> None:
    content = json.loads((make_run(tmp_path / "whole") / "results.json").read_text())
    lost = {
        make_run(tmp_path / "damaged", seed=seed, steps=10): place
        for seed, place in enumerate(keys(content))
        if place != ("schema",)
    }
    for run, place in lost.items():
        remove(run, place)
    found = read([tmp_path / "damaged"])
    assert len(found.records) == len(lost) > 150
    for section in SECTIONS:
        for damage in damages(section, found):
            place = lost[damage.file.parent]
            assert str(damage).startswith(f"{damage.file} lacks {written(place)};")
