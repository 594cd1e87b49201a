"""How fast the kernel backends were, where andrea_exp.bench has left its record beside the runs."""

import shlex
from collections.abc import Iterator

from markupsafe import Markup

from andrea_exp.record.bench import Bench, BenchFile, Block, Row
from andrea_exp.report.format import MISSING, significant
from andrea_exp.report.markup import Cell, Column, data_table, nothing, paragraph
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import Table
from andrea_exp.report.timed import HEADS, LEGEND, cells, machine, sizes

PROGRAM = ("python", "-m", "andrea_exp.bench")
_LIBRARIES = ("triton", "liger-kernel", "cuda-core")
"""Of kernel backends, beside torch."""


def _html(table: Table) -> Markup:
    if not table.benches:
        return nothing(
            "No bench*.json lies beside the runs; python -m andrea_exp.bench --output writes one."
        )
    parts = [paragraph(LEGEND)]
    for number, file in enumerate(table.benches, start=1):
        parts += _file(file, number=number)
    return Markup("").join(parts)


def _file(file: BenchFile, *, number: int) -> Iterator[Markup]:
    """A file's own lines, the tables of its blocks, and what was not timed."""
    bench = file.bench
    if bench is None:
        yield paragraph(f"{file.name} cannot be read: {file.reason}")
        return
    yield paragraph(
        Markup("{}: <code>{}</code>, {}, {}.").format(
            file.name, shlex.join([*PROGRAM, *bench.overrides]), bench.recorded_at, _versions(bench)
        )
    )
    for index, block in enumerate(bench.blocks, start=1):
        yield _block(block, key=f"kernel_speed-{number}-{index}")
    untimed = list(dict.fromkeys(_untimed(bench)))
    if untimed:
        yield data_table(
            key=f"kernel_speed-{number}-untimed",
            caption="What was not timed, and why.",
            columns=[
                Column(head="operation"),
                *(Column(head=head, kind="words") for head in ("backend", "outcome")),
                Column(head="why", kind="prose"),
            ],
            rows=untimed,
        )


def _versions(bench: Bench) -> str:
    told = [f"Python {bench.platform.python}", f"torch {bench.packages.get('torch', MISSING)}"]
    told += [f"{name} {bench.packages[name]}" for name in _LIBRARIES if name in bench.packages]
    return ", ".join(told)


def _block(block: Block, *, key: str) -> Markup:
    words = [Column(head=head, kind="words") for head in ("backend", "runs as", "pass")]
    numbers = [Column(head=head) for head in HEADS]
    last = [Column(head="error over its limit"), Column(head="bits repeat", kind="words")]
    return data_table(
        key=key,
        caption=f"{sizes(block)}. {machine(block)}.",
        columns=[Column(head="operation"), *words, *numbers, *last],
        rows=[line for row in block.rows for line in _lines(row)],
    )


def _lines(row: Row) -> Iterator[list[Cell]]:
    passes = {"forward": row.forward, "both": row.forward_backward}
    for name, found in passes.items():
        if found is not None:
            told = [_share(row), "yes" if row.bits_repeat else "no"]
            yield [row.operation, row.backend, row.runs_as or MISSING, name, *cells(found), *told]


def _share(row: Row) -> str:
    """How much of the allowed error a backend had."""
    found = row.agreement
    if found is None or found.error is None or not found.limit:
        return MISSING
    return significant(found.error / found.limit)


def _untimed(bench: Bench) -> Iterator[tuple[str, str, str, str]]:
    for block in bench.blocks:
        for row in block.rows:
            if row.reasons:
                yield row.operation, row.backend, row.outcome, "; ".join(row.reasons)


SECTION = Section(
    key="kernel_speed",
    title="Kernels",
    source="bench*.json, in the folders of this report",
    html=_html,
)
