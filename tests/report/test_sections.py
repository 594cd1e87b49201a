import json
import re
from pathlib import Path

import pytest

from andrea_exp.record.manifest import Status
from andrea_exp.report.arms import policies
from andrea_exp.report.markup import LONG, Column, data_table
from andrea_exp.report.page import SECTIONS, read
from andrea_exp.report.sections import cost, lengths, positions, seeds, smoothness, summary, tails
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import Table, table_of
from benchmarks.synthetic_runs import make_run

every_section = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.key)


def rows(html: str, *, key: str) -> list[list[str]]:
    """The cells of one table of a section, as text."""
    table = html[html.index(f'id="{key}-caption"') :]
    body = table[table.index("<tbody>") : table.index("</tbody>")]
    return [
        [re.sub("<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    ]


@every_section
def test_a_section_is_a_pure_function(section: Section, sweep_table: Table) -> None:
    assert section.html(sweep_table) == section.html(sweep_table) != ""


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return table_of(read([make_run(tmp_path_factory.mktemp("waiting"), status=Status.pending)]))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """One run of every status."""
    folder = tmp_path_factory.mktemp("mixed")
    for seed, status in enumerate(Status):
        make_run(folder, seed=seed, status=status, steps=40)
    return table_of(read([folder]))


@every_section
def test_a_section_speaks_where_there_is_nothing_to_show(section: Section, waiting: Table) -> None:
    text = re.sub("<[^>]*>", "", section.html(waiting))
    assert re.search(r"[a-z]{2} [a-z]", text)


@every_section
def test_a_section_survives_every_status(section: Section, mixed: Table) -> None:
    assert section.html(mixed)


@every_section
def test_ids_of_a_section_begin_with_its_key_or_are_its_tables(
    section: Section, sweep_table: Table
) -> None:
    for found in re.findall(r'\bid="([^"]*)"', section.html(sweep_table)):
        assert found.startswith((section.key, "glance"))


def test_every_label_past_t_has_the_policy(sweep_table: Table) -> None:
    for section in (lengths.SECTION, tails.SECTION):
        legend = re.findall(r"</svg>([^<]*)</li>", section.html(sweep_table))
        assert legend
        assert all("past T: " in label for label in legend)
    for policy in policies(sweep_table):
        assert policy.label.endswith(f"past T: {policy.beyond}")


def test_losses_by_position_past_t_have_the_policy(sweep_table: Table) -> None:
    html = positions.SECTION.html(sweep_table)
    far = re.search(r'id="positions-far-text">([^<]*)<', html)
    assert far is not None
    assert all("past T: " in line for line in far.group(1).split("; "))


def test_a_refused_length_is_a_row_with_its_reason(single_table: Table) -> None:
    found = rows(lengths.SECTION.html(single_table), key="lengths-refused")
    assert [row[2] for row in found] == ["128 = 2T", "256 = 4T", "512 = 8T"]
    assert found[0][1] == "error"
    assert found[0][3] == "a sequence of 128 exceeds the 64 trained positions"


def test_a_further_policy_has_the_declared_ones_losses_up_to_t(single_table: Table) -> None:
    declared, clamp = rows(lengths.SECTION.html(single_table), key="lengths-block-table")
    assert declared[2:4] == clamp[2:4]
    assert declared[4:] == ["refused"] * 3
    assert "refused" not in clamp


def test_policies_of_an_arm_begin_with_the_declared_one(single_table: Table) -> None:
    assert [(p.beyond, p.declared) for p in policies(single_table)] == [
        ("error", True),
        ("clamp", False),
    ]


def test_means_are_over_completed_seeds(sweep_table: Table) -> None:
    found = {row[0]: row for row in rows(summary.SECTION.html(sweep_table), key="glance")}
    assert found["rope, tied"][1] == "2"
    assert found["rope, untied"][1] == "1"
    first, second = (
        run.final("val_loss") for run in sweep_table.completed if run.arm == "rope, tied"
    )
    assert first is not None
    assert second is not None
    assert found["rope, tied"][3].startswith(f"{(first + second) / 2:.3f} ±")


def test_the_parts_of_the_ledger_sum_to_the_total(sweep_table: Table) -> None:
    for row in rows(cost.SECTION.html(sweep_table), key="cost-parts"):
        numbers = [int(cell.split()[0].replace(",", "")) for cell in row[1:]]
        assert numbers[0] == sum(numbers[1:])


def test_a_difference_is_taken_between_equal_seeds_only(tmp_path: Path) -> None:
    for seed in (0, 1, 2):
        make_run(tmp_path, position="none", seed=seed)
    make_run(tmp_path, position="rope", seed=2)
    table = table_of(read([tmp_path]))
    found = {row[0]: row for row in rows(seeds.SECTION.html(table), key="seeds-paired")}
    none, rope = (
        next(run for run in table.runs if run.arm == arm and run.seed == 2).final("val_loss")
        for arm in ("none", "rope")
    )
    assert none is not None
    assert rope is not None
    assert found["rope"][2].split() == [f"\N{MINUS SIGN}{none - rope:.3f}", "1", "of", "3", "seeds"]
    assert found["none"][2] == "reference"


def test_smoothness_stands_beside_its_controls(single_table: Table) -> None:
    found = rows(smoothness.SECTION.html(single_table), key="smoothness-panel")
    assert [row[1] for row in found] == [
        "at init",
        "after training",
        "change from init",
        "control: sinusoid",
        "control: iid",
        "control: shuffled",
        "control: random walk",
    ]


def test_schemes_without_a_table_are_named(sweep_table: Table) -> None:
    assert "without rows: alibi, none and rope" in smoothness.SECTION.html(sweep_table)


def test_one_length_alone_is_a_table_without_figures(tmp_path: Path) -> None:
    run = make_run(tmp_path, position="rope")
    results = json.loads((run / "results.json").read_text())
    results["lengths"] = [row for row in results["lengths"] if row["factor"] == 1]
    (run / "results.json").write_text(json.dumps(results))
    table = table_of(read([tmp_path]))
    text = lengths.SECTION.html(table)
    assert "<svg" not in text
    assert "at every length" in text
    assert "One length was scored" in tails.SECTION.html(table)


def test_a_long_table_is_folded_and_a_short_one_is_not() -> None:
    columns = [Column(head="a")]
    for number in (LONG, LONG + 1):
        found = data_table(key="k", caption="c", columns=columns, rows=[["x"]] * number)
        assert ("<details>" in found) == (number > LONG)
        assert found.count("<tr>") == number + 1
    assert f"{LONG + 1} rows" in found
