"""What the page says of token rows, hidden states and order."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

from andrea_exp.report.markup import Nothing
from andrea_exp.report.page import page, read
from andrea_exp.report.sections import geometry, hidden, order
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import Table, table_of
from benchmarks.synthetic_runs import make_run
from tests.report.test_sections import rows

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"
NEW = (geometry.SECTION, hidden.SECTION, order.SECTION)


def edited(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A run whose results have been changed."""
    path = folder / "results.json"
    results = json.loads(path.read_text())
    change(results)
    path.write_text(json.dumps(results))
    return folder


def with_rise(folder: Path, *, rise: float) -> None:
    def change(results: dict[str, Any]) -> None:
        contrast = results["geometry"]["input"]["contrast"]
        contrast["init"]["difference"] = 0.125
        contrast["trained"]["difference"] = 0.125 + rise
        contrast["rise"] = rise

    edited(folder, change)


def cells(section: Section, table: Table, key: str) -> list[list[str]]:
    return rows(section.html(table), key=key)


RISES = (0.25, 0.5, 1.0)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Three seeds of one tied arm, and an untied run."""
    folder = tmp_path_factory.mktemp("seeds")
    for seed, rise in enumerate(RISES):
        with_rise(make_run(folder, position="rope", seed=seed), rise=rise)
    make_run(folder, position="learned", output="untied")
    return table_of(read([folder]))


def test_the_class_measure_has_every_seed_and_the_interval_over_them(seeds: Table) -> None:
    found = [row for row in cells(geometry.SECTION, seeds, "geometry-classes") if "rope" in row[0]]
    assert [row[2:6] for row in found[:3]] == [
        [str(seed), "+0.125", f"+{0.125 + rise:.3f}", f"+{rise:.3f}"]
        for seed, rise in enumerate(RISES)
    ]
    mean, error = sum(RISES) / 3, stats.sem(RISES)
    low, high = stats.t.interval(0.95, 2, loc=mean, scale=error)
    assert found[3][2:6] == [
        "all 3",
        "+0.125",
        f"+{0.125 + mean:.3f}",
        f"+{mean:.3f} [{low:+.3f}, {high:+.3f}]".replace("-", MINUS),
    ]
    assert found[3][-1] == "weekdays 0.000, instruments 0.100"


def test_few_seeds_call_the_class_measure_a_screen(seeds: Table, tmp_path: Path) -> None:
    assert "With 3 seeds per arm this is a screen" in geometry.SECTION.html(seeds)
    for seed in range(6):
        make_run(tmp_path, seed=seed)
    assert "screen" not in geometry.SECTION.html(table_of(read([tmp_path])))


def test_tied_rows_are_shown_once_and_called_so(seeds: Table) -> None:
    found = cells(geometry.SECTION, seeds, "geometry-pairs")
    sides = {arm: [row[1] for row in found if row[0].startswith(arm)] for arm in ("rope", "learn")}
    assert sides == {"rope": ["input = output"] * 2, "learn": ["input"] * 2 + ["output"] * 2}


def test_a_pair_stands_with_its_numbers_before_and_after(single_table: Table) -> None:
    dog, tuesday = cells(geometry.SECTION, single_table, "geometry-pairs")
    assert dog[2] == "cat, dog"
    assert dog[4] == "0.660"
    assert dog[6] == f"{0.66 * 1.3 * 1.3:.3f}"
    assert dog[7:] == ["0.900, 0.900", "1.300, 1.300"]
    assert (tuesday[2], tuesday[4]) == ("cat, Tuesday", "0.020")


def test_one_run_shows_neighbours_and_several_say_where_they_are(
    single_table: Table, seeds: Table
) -> None:
    found = cells(geometry.SECTION, single_table, "geometry-neighbours")
    assert found == [
        ["cat", "input = output", "pet 0.71; &lt;dog&gt; 0.50"],
        ["dog", "input = output", DASH],
    ]
    html = geometry.SECTION.html(seeds)
    assert "geometry-neighbours" not in html
    assert "andrea_exp.diagnose RUN --neighbours TEXT" in html


def test_each_layer_has_its_share_and_what_of_it_is_noise(single_table: Table) -> None:
    found = {row[1]: row[2:] for row in cells(hidden.SECTION, single_table, "hidden-layers")}
    assert list(found) == ["embedding", "block 1", "block 2", "head"]
    assert found["embedding"][:2] == ["6.00%", "6.00%"]
    assert found["block 2"][:3] == ["2.00%", "6.00%", "0.970"]


def test_noise_is_never_more_than_all(tmp_path: Path) -> None:
    table = table_of(read([make_run(tmp_path, position="rope")]))
    assert cells(hidden.SECTION, table, "hidden-layers")[0][2:4] == ["0.20%", "100.0%"]


def test_the_scale_at_the_input_is_shown_where_there_are_rows(sweep_table: Table) -> None:
    found = {
        (row[0], row[1]): row[2:] for row in cells(hidden.SECTION, sweep_table, "hidden-scales")
    }
    assert found["learned, tied", "at init"] == ["0.900", "0.230", "0.256"]
    assert found["learned, tied", "after training"] == ["1.200", "0.840", "0.700"]
    assert found["none, untied", "at init"] == ["0.900", DASH, DASH]


def test_figures_of_hidden_states_say_their_ends_in_words(single_table: Table) -> None:
    text = re.findall(r'id="hidden-\w+-text">([^<]*)<', hidden.SECTION.html(single_table))
    assert len(text) == 2
    first, last = 0.06**0.5, 0.06**0.5 / (1 + 63 / 9)
    assert f"{first:.3f} at the first position, {last:.3f} at the last" in text[0]


def test_the_order_probe_is_a_row_per_arm(seeds: Table) -> None:
    found = {row[0]: row[1:] for row in cells(order.SECTION, seeds, "order-probe")}
    assert set(found) == {"learned, untied", "rope, tied"}
    runs = [run for run in seeds.completed if run.arm == "rope, tied"]
    rises = [run.part("order")["rise_nats"] for run in runs]
    assert found["rope, tied"][0] == "0.520 ±0.000"
    assert found["rope, tied"][3].startswith(f"+{sum(rises) / 3:.3f} ±")
    assert found["learned, untied"][4:] == ["0.050", "256"]


@pytest.mark.parametrize("absent", [True, False])
def test_runs_without_these_measures_are_still_shown(tmp_path: Path, absent: bool) -> None:
    def old(results: dict[str, Any]) -> None:
        for part, key in ((results, "geometry"), (results, "order")):
            part.pop(key) if absent else part.update({key: None})
        results["smoothness"]["hidden_mean"] = None

    folder = edited(make_run(tmp_path), old)
    table = table_of(read([folder]))
    for section in NEW:
        text = section.html(table)
        assert isinstance(text, Nothing)
        assert text.startswith("No run has ")
    assert "What order is worth" in page(read([folder]))


def test_one_old_run_does_not_hide_the_others(tmp_path: Path) -> None:
    edited(make_run(tmp_path, seed=0), lambda results: results.update(geometry=None, order=None))
    make_run(tmp_path, seed=1)
    table = table_of(read([tmp_path]))
    assert [row[2] for row in cells(geometry.SECTION, table, "geometry-classes")] == ["1"]
    assert len(cells(order.SECTION, table, "order-probe")) == 1


def test_runs_without_classes_of_words_have_pairs_alone(tmp_path: Path) -> None:
    def plain(results: dict[str, Any]) -> None:
        results["geometry"]["input"]["contrast"] = None

    html = geometry.SECTION.html(table_of(read([edited(make_run(tmp_path), plain)])))
    assert "geometry-pairs" in html
    assert "geometry-classes" not in html
    assert "class measure" not in html
