"""The table of runs."""

import shutil
from pathlib import Path

from andrea_exp.report.cautions import cautions
from andrea_exp.report.page import page, read
from andrea_exp.report.table import table_of


def test_equal_runs_are_one_seed_and_the_others_are_named(single: Path, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        shutil.copytree(single, tmp_path / f"copy-{number}")
    found = read([tmp_path])
    table = table_of(found)
    assert len(table.runs) == 3
    assert [run.record.name for run in table.completed] == ["copy-3"]
    assert table.num_seeds == 1
    alone = table_of(read([tmp_path / "copy-3"]))
    assert len(table.lengths) == len(alone.lengths)
    assert [caution.title for caution in cautions(table)] == [
        "2 of 3 runs repeat a recipe, seed included."
    ]
    assert "it repeats the recipe of a newer run" in page(found)


def test_runs_of_different_recipes_are_all_counted(sweep: Path) -> None:
    table = table_of(read([sweep]))
    assert not any(run.repeats for run in table.runs)
    assert table.num_seeds > 1
