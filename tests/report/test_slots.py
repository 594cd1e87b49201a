import json
import re
from pathlib import Path

import pytest

from andrea_exp.report.page import page, read
from andrea_exp.report.sections import lengths, positions, slots
from andrea_exp.report.table import Table, table_of
from benchmarks.synthetic_runs import make_run
from tests.report.test_sections import rows

FLOOR = 0.875


def with_floor(folder: Path, *, excess: float, floor: float = FLOOR) -> None:
    """Give a run's results slots and floors."""
    path = folder / "results.json"
    results = json.loads(path.read_text())
    results["slots"] = [
        {"slot": "day", "loss_nats": 2 + excess, "floor_nats": 1.9, "accuracy": 0.1, "tokens": 25},
        {"slot": "object", "loss_nats": 2.5, "floor_nats": 2.6, "accuracy": 0.2, "tokens": 75},
    ]
    for row in results["lengths"]:
        if row["status"] == "ok":
            row["floor_nats"] = floor
            for bucket in row["per_position"]:
                bucket["floor_nats"] = floor + 1 / (1 + bucket["start"])
    path.write_text(json.dumps(results))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Two seeds of one arm, one of another, and an old run without slots."""
    folder = tmp_path_factory.mktemp("slots")
    for position, seed, excess in (("rope", 0, 0.25), ("rope", 1, 0.75), ("alibi", 0, 0.125)):
        with_floor(make_run(folder, position=position, seed=seed), excess=excess)
    make_run(folder, position="none")
    return table_of(read([folder]))


def cells(table: Table, key: str) -> list[list[str]]:
    return rows(slots.SECTION.html(table), key=key)


def test_a_slot_is_a_row_with_its_targets_its_floor_and_each_arm(table: Table) -> None:
    assert cells(table, "slots-loss") == [
        ["day", "25.0%", "25", "1.900", "2.125", "2.500 ±0.354"],
        ["object", "75.0%", "75", "2.600", "2.500", "2.500 ±0.000"],
    ]


def test_the_excess_is_the_loss_less_the_floor_with_its_sign(table: Table) -> None:
    assert [row[4:] for row in cells(table, "slots-excess")] == [
        ["+0.225", "+0.600 ±0.354"],
        ["−0.100", "−0.100 ±0.000"],  # noqa: RUF001 - a minus sign
    ]


def test_a_slot_without_a_floor_has_no_excess(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    with_floor(folder, excess=0.5)
    text = (folder / "results.json").read_text().replace('"floor_nats": 1.9', '"floor_nats": null')
    (folder / "results.json").write_text(text)
    table = table_of(read([folder]))
    assert cells(table, "slots-excess")[0][3:] == ["–", "–"]  # noqa: RUF001 - a dash
    assert cells(table, "slots-loss")[0][4] == "2.500"


def test_runs_without_slots_say_so(single_table: Table) -> None:
    assert "No run has losses by slot" in slots.SECTION.html(single_table)


def test_the_floor_is_a_row_and_a_line_of_the_lengths(table: Table) -> None:
    html = lengths.SECTION.html(table)
    last = rows(html, key="lengths-block-table")[-1]
    assert last == ["floor: the best possible", "–", *["0.875"] * 5]  # noqa: RUF001 - a dash
    assert len(re.findall(r">floor 0\.8[78]<", html)) == 2


def test_the_floor_is_a_line_of_the_positions_where_all_runs_agree(
    table: Table, tmp_path: Path
) -> None:
    assert "floor" not in positions.SECTION.html(table)
    for seed in (0, 1):
        with_floor(make_run(tmp_path, position="rope", seed=seed), excess=0.5)
    assert ">floor " in positions.SECTION.html(table_of(read([tmp_path])))


def test_floors_on_which_runs_do_not_agree_are_not_drawn(tmp_path: Path) -> None:
    for seed, floor in ((0, 0.875), (1, 0.75)):
        with_floor(make_run(tmp_path, position="rope", seed=seed), excess=0.5, floor=floor)
    html = lengths.SECTION.html(table_of(read([tmp_path])))
    assert "floor" not in html


def test_the_page_has_the_section(single: Path) -> None:
    assert "Loss by slot" in page(read([single]))
