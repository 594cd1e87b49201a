"""How fast the runs were, on the machine that they ran on."""

from collections.abc import Sequence

from markupsafe import Markup

from andrea_exp.report.format import MISSING, count, fixed, quantity
from andrea_exp.report.markup import Cell, Column, data_table, nothing, paragraph
from andrea_exp.report.sections.base import Section
from andrea_exp.report.spread import spread
from andrea_exp.report.table import Run, Table

HEADS = ("arm", "tokens per second", "step, ms (median)", "first step, s", "peak memory, MB")


def _html(table: Table) -> Markup:
    measured = {
        arm: [run for run in runs if run.part("throughput")] for arm, runs in table.arms.items()
    }
    rows = [[arm, *_numbers(runs), _where(runs)] for arm, runs in measured.items() if runs]
    if not rows:
        return nothing("No run has measured its speed yet.")
    explanation = (
        "Speed is part of the cost of a choice, but it belongs to a machine and to what else that "
        "machine was doing. Only runs on one idle machine compare."
    )
    return paragraph(explanation) + data_table(
        key="throughput-table",
        caption="Speed and memory of training; means over seeds.",
        columns=[*(Column(head=head) for head in HEADS), Column(head="where", kind="words")],
        rows=rows,
    )


def _numbers(runs: Sequence[Run]) -> list[Cell]:
    def mean(key: str) -> float | None:
        return spread([run.part("throughput").get(key) for run in runs]).mean

    return [
        count(mean("tokens_per_s")),
        fixed(mean("step_ms_median"), digits=1),
        fixed(mean("first_step_s"), digits=2),
        count(mean("peak_memory_mb")),
    ]


def _where(runs: Sequence[Run]) -> str:
    places = {_place(run) for run in runs}
    return "; ".join(sorted(places))


def _place(run: Run) -> str:
    device, threads = run.record.manifest.device, run.record.manifest.threads
    counted = MISSING if threads is None else quantity(threads, "thread")
    return f"{device or MISSING}, {counted}"


SECTION = Section(
    key="throughput",
    title="Throughput",
    source="results.json (throughput), manifest.json (device, threads)",
    html=_html,
)
