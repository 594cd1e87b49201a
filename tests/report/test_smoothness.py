"""What the report says about position rows is made of the numbers, and survives their absence."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from andrea_exp.report.page import page, read
from andrea_exp.report.reading import order_in_words
from andrea_exp.report.sections import drift, probes, row_cosines, smoothness
from andrea_exp.report.sections.drift import cliff_in_words
from andrea_exp.report.table import Run, Table, table_of
from benchmarks.synthetic_runs import make_run
from tests.report.test_sections import rows

Change = Callable[[dict[str, Any]], None]
NEW = ("change", "permutation", "drift", "overlap", "row_cosines")


def changed(place: Path, change: Change, *, position: str = "learned") -> Table:
    """The table of one run whose smoothness was changed."""
    run = make_run(place, position=position)
    content = json.loads((run / "results.json").read_text())
    change(content["smoothness"])
    (run / "results.json").write_text(json.dumps(content))
    return table_of(read([run]))


def words(place: Path, change: Change, *, position: str = "learned") -> str:
    return order_in_words(changed(place, change, position=position).completed)


def only(table: Table) -> Run:
    (run,) = table.completed
    return run


def put(
    *, cosine: float = 0.68, p: float = 1 / 201, ratio: float = 1.687, start: float = -0.02
) -> Change:
    def change(part: dict[str, Any]) -> None:
        part["trained"] |= {"centred_adjacent_cosine": cosine, "d2_over_d1": ratio}
        part["init"] |= {"centred_adjacent_cosine": start, "d2_over_d1": 1.736}
        part["permutation"] |= {"p": p, "max": 0.165}

    return change


def test_ordered_rows_with_noise_are_told_both(tmp_path: Path) -> None:
    text = words(tmp_path, put())
    assert "went from \N{MINUS SIGN}0.020 at init to 0.680, away from 200 shuffles" in text
    assert "(largest 0.165, p = 0.005): training gave the rows an order." in text
    assert "Yet d2/d1 is 1.687 (1.736 at init; independent rows have 1.732, the sinusoid" in text
    assert "stays near independent rows, because the noise of single rows dominates" in text


@pytest.mark.parametrize(
    ("change", "said", "not_said"),
    [
        (put(p=0.31, cosine=0.05), ["no order is shown", "Likewise"], "gave the rows an order"),
        (put(cosine=-0.4), ["no order is shown"], "gave the rows an order"),
        (put(ratio=0.9), ["gave the rows an order", "nearer to a curve"], "noise of single rows"),
    ],
)
def test_other_numbers_make_other_sentences(
    tmp_path: Path, change: Change, said: list[str], not_said: str
) -> None:
    text = words(tmp_path, change)
    assert all(each in text for each in said)
    assert not_said not in text


def test_fixed_rows_are_not_said_to_have_been_trained(tmp_path: Path) -> None:
    text = words(tmp_path, put(ratio=0.727), position="sinusoidal")
    assert text.startswith("Fixed rows: the centred neighbour cosine is 0.680, beside 200 shuffles")
    assert "training" not in text


def test_one_seed_without_order_is_enough_to_show_none(tmp_path: Path) -> None:
    runs = [
        only(changed(tmp_path / str(index), put(p=p))) for index, p in enumerate((1 / 201, 0.2))
    ]
    assert "training gave the rows an order" in order_in_words(runs[:1])
    assert "no order is shown" in order_in_words(runs)


def test_the_null_stands_in_the_section_beside_overlap_and_its_chance(single_table: Table) -> None:
    (row,) = rows(smoothness.SECTION.html(single_table), key="smoothness-chance")
    assert row[2:] == ["\N{MINUS SIGN}0.004", "0.170", "0.005", "200", "17", "0.250", "0.133"]
    assert order_in_words(single_table.completed) in re.sub(
        "<[^>]*>", "", smoothness.SECTION.html(single_table).replace("&#39;", "'")
    )


def test_the_cliff_is_named_where_rows_stop_being_trained(tmp_path: Path) -> None:
    text = cliff_in_words(only(changed(tmp_path / "long", lambda _: None)))
    assert text == (
        "the cliff is at row 64 (T) of 128, the first that was never trained: its drift is 0.079 "
        "after 1.300 at row 63, and decay alone gives 0.079."
    )

    def early(part: dict[str, Any]) -> None:
        part["drift"]["first_untrained_row"] = 40

    assert "row 40 (not T)" in cliff_in_words(only(changed(tmp_path / "early", early)))

    def whole(part: dict[str, Any]) -> None:
        part["drift"] |= {"relative": [1.5] * 64, "first_untrained_row": None}

    text = cliff_in_words(only(changed(tmp_path / "whole", whole)))
    assert text.startswith("training moved all 64 rows")


def test_the_drift_of_trained_rows_leaves_the_others_out(single_table: Table) -> None:
    (row,) = rows(drift.SECTION.html(single_table), key="drift-rows")
    assert row[1:] == ["1.300", "1.305", "2.300", "0.400", "0.079", "64"]


def test_the_curves_begin_at_init_and_every_scheme_has_a_loss(sweep_table: Table) -> None:
    html = probes.SECTION.html(sweep_table)
    texts = dict(re.findall(r'id="probes-([a-z0-9-]*)-text">([^<]*)<', html))
    assert set(texts) == {
        *("centred-adjacent-cosine", "adjacent-cosine", "d2-over-d1", "effective-rank"),
        "val-loss-nats",
    }
    assert "learned, tied 1.670 to 1.670" in texts["d2-over-d1"]
    assert "rope" not in texts["d2-over-d1"]
    assert all(f"{arm} " in texts["val-loss-nats"] for arm in sweep_table.arms)


def test_every_table_has_a_heat_map_and_each_shape_one_sinusoid(sweep_table: Table) -> None:
    html = row_cosines.SECTION.html(sweep_table)
    titles = re.findall(r"<figcaption[^>]*>([^<]*)<", html)
    with_rows = [arm for arm in sweep_table.arms if arm.startswith(("learned", "sinusoidal"))]
    assert titles == [*with_rows, "sinusoid of 57 rows"]
    assert html.count("data:image/png") == 2 * len(titles)
    assert "beside the diagonal have a mean of 0.700" in html


def test_runs_from_before_these_measures_are_shown_without_them(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    content = json.loads((run / "results.json").read_text())
    part = content["smoothness"]
    for key in NEW:
        del part[key]
    for panel in (part["init"], part["trained"], *part["controls"].values()):
        del panel["translation_invariance"], panel["translation_invariance_by_lag"]
    part["drift"] = None
    (run / "results.json").write_text(json.dumps(content))
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    old = ("step", "tokens", "train_loss_nats", "lr", "grad_norm", "clipped", "elapsed_s")
    (run / "metrics.jsonl").write_text(
        "".join(json.dumps({key: line[key] for key in old}) + "\n" for line in lines)
    )
    text = page(read([run]))
    for said in (
        "No run of this report has measured how far its position rows moved.",
        "No run has measured its model along the training",
        "No run of this report has the cosines of all pairs of its rows.",
    ):
        assert said in text
    assert "smoothness-chance" not in text
    found = rows(smoothness.SECTION.html(table_of(read([run]))), key="smoothness-panel")
    assert [row[1] for row in found][:3] == ["at init", "after training", "control: sinusoid"]


@pytest.mark.parametrize("size", [3, 8])
def test_the_mirrored_matrix_is_whole(size: int) -> None:
    half = [[10.0 * i + k for k in range(i + 1)] for i in range(size)]
    whole = row_cosines._mirrored(half)  # pyright: ignore[reportPrivateUsage]
    for i in range(size):
        for k in range(size):
            assert whole[i][k] == whole[k][i] == 10.0 * max(i, k) + min(i, k)
