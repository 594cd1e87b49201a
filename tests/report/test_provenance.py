"""Where numbers come from: directories, surroundings, differences, and the command to type."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from andrea_exp.report.page import read
from andrea_exp.report.sections import provenance
from andrea_exp.report.table import table_of
from benchmarks.synthetic_runs import make_run
from tests.report.test_sections import rows

SWEEP = ("python", "-m", "andrea_exp", "-m", "name=x", "position=rope,none", "outputs=/home/me")


def html(*folders: Path) -> str:
    return str(provenance.SECTION.html(table_of(read(folders))))


def change(run: Path, key: str, value: Any) -> None:
    content = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**content, key: value}))


def commands(text: str) -> list[list[str]]:
    """What is typed, and for what."""
    listed = text[text.index('<ul class="commands">') :]
    return [list(found) for found in re.findall(r'note">([^<]*)<.*?<code>([^<]*)</code>', listed)]


def test_every_run_has_its_directory_and_its_recipe(tmp_path: Path) -> None:
    runs = [make_run(tmp_path, seed=seed) for seed in (0, 1)]
    found = rows(html(tmp_path), key="provenance-table")
    records = read([tmp_path]).records
    assert [row[-1] for row in found] == [run.name for run in runs]
    assert [row[-2] for row in found] == [record.recipe_hash for record in records]


@pytest.mark.parametrize(
    ("attention", "cross_entropy", "told"),
    [
        ("torch", "torch", "torch"),
        ("torch (flash)", "torch", "torch (attention flash)"),
        ("torch (math)", "triton", "attention torch (math), cross_entropy triton, embedding torch"),
    ],
)
def test_kernels_are_told_in_full_but_without_repeating_a_name(
    tmp_path: Path, attention: str, cross_entropy: str, told: str
) -> None:
    ran = {"embedding": "torch", "attention": attention, "cross_entropy": cross_entropy}
    change(make_run(tmp_path), "kernel", ran)
    (row,) = rows(html(tmp_path), key="provenance-table")
    assert row[provenance.HEADS.index("kernels")] == told


def test_runs_of_one_sweep_have_its_one_command_without_places(tmp_path: Path) -> None:
    for position in ("rope", "none"):
        make_run(tmp_path, position=position, argv=SWEEP)
    typed = "python -m andrea_exp -m name=x position=rope,none"
    assert commands(html(tmp_path)) == [["2 runs", typed]]


def test_a_run_beside_a_sweep_has_a_command_of_its_own(tmp_path: Path) -> None:
    for position in ("rope", "none"):
        make_run(tmp_path, position=position, argv=SWEEP)
    make_run(tmp_path, position="alibi", seed=3)
    (sweep, alone) = commands(html(tmp_path))
    assert sweep[0] == "2 runs"
    assert alone[0] == "alibi, seed 3"
    assert alone[1] == "python -m andrea_exp position=alibi output=tied seed=3"


def test_two_sweeps_have_two_commands(tmp_path: Path) -> None:
    make_run(tmp_path, position="rope", argv=SWEEP)
    make_run(tmp_path, position="none", argv=(*SWEEP, "seed=4"))
    assert [words[0] for words in commands(html(tmp_path))] == ["1 run", "1 run"]


def test_what_all_runs_share_is_told_once_and_in_full(tmp_path: Path) -> None:
    for seed in (0, 1):
        make_run(tmp_path, seed=seed)
    told = {row[0]: row[1:] for row in rows(html(tmp_path), key="provenance-surroundings")}
    sha = "0123456789abcdef" * 2 + "01234567"
    assert told["program"] == [f"commit {sha}, changed by git.patch of its directory", "all"]
    assert told["data"] == ["stdlib, 5,900,000 tokens, fingerprint 5f2d9c1ab77e4403", "all"]
    assert told["packages"] == ["andrea_exp 0.1.0, torch 2.13.0", "all"]
    assert set(told) == {"program", "data", "Python", "packages"}


def test_what_differs_is_counted(tmp_path: Path) -> None:
    runs = [make_run(tmp_path, seed=seed) for seed in (0, 1, 2)]
    change(runs[2], "packages", {"torch": "2.14.0", "andrea_exp": "0.1.0"})
    change(runs[1], "git", {"sha": "f" * 40, "dirty": False, "patch": None})
    change(runs[0], "git", None)
    text = html(tmp_path).replace("<br>", " | ")
    told = {row[0]: row[1:] for row in rows(text, key="provenance-surroundings")}
    assert told["packages"] == ["andrea_exp 0.1.0", "all"]
    assert told["torch"] == ["2.13.0 | 2.14.0", "2 | 1"]
    assert told["program"][0].startswith("commit 0123456789")
    assert told["program"][0].endswith(f"commit {'f' * 40} | not recorded")
    assert told["program"][1] == "1 | 1 | 1"


def test_only_keys_that_differ_are_listed_by_arm_with_a_dash_where_there_is_none(
    tmp_path: Path,
) -> None:
    for seed in (0, 1):
        make_run(tmp_path, position="rope", seed=seed, settings={"decay": None})
        make_run(tmp_path, position="none", seed=seed, settings={"lr": 0.01})
    text = html(tmp_path)
    found = {row[0]: row[1:] for row in rows(text, key="provenance-settings")}
    assert re.findall(r'<th scope="col" class="words">(none|rope)', text) == ["none", "rope"]
    assert found == {
        "optimizer.decay": ["\N{EN DASH}", "null"],
        "optimizer.lr": ["0.01", "0.003"],
        "position": ["none", "rope"],
        "position.name": ["none", "rope"],
    }


def test_runs_that_differ_by_seed_alone_say_so(tmp_path: Path) -> None:
    for seed in (0, 1):
        make_run(tmp_path, seed=seed)
    text = html(tmp_path)
    assert "differ in nothing but their seeds" in text
    assert "provenance-settings" not in text
