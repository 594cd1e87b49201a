"""Where every number comes from, and how to get it again."""

import shlex

from markupsafe import Markup

from andrea_exp.report.format import MISSING
from andrea_exp.report.markup import Cell, Column, data_table, fragment, paragraph
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import Run, Table

HEADS = (
    "run",
    "status",
    "seed",
    "program",
    "data",
    "Python",
    "torch",
    "threads",
    "device",
    "kernels",
    "recipe",
)
ELSEWHERE = ("outputs", "resume", "rerun")
"""Keys that say where a run lies or how it was started again; they belong to one machine."""


def _html(table: Table) -> Markup:
    facts = data_table(
        key="provenance-table",
        caption="What ran, on what. Fingerprints and hashes are shortened to their first digits; "
        "an asterisk marks a program that differed from its commit.",
        columns=[Column(head=head) for head in HEADS],
        rows=[_row(run) for run in table.runs],
    )
    runs = [(run.name.run, _command(run), run.record.name) for run in table.runs]
    commands = fragment("commands", {"runs": runs})
    text = "With the same program, data, thread count and kind of machine these give the same bits."
    return facts + paragraph(text) + commands


def _row(run: Run) -> list[Cell]:
    manifest = run.record.manifest
    program, data = manifest.git, manifest.data
    packages = manifest.packages or {}
    return [
        run.name.run,
        run.record.status.name,
        str(manifest.seed),
        f"{program.sha[:10]}{'*' if program.dirty else ''}" if program else MISSING,
        f"{data.name} {data.fingerprint[:10]}" if data else MISSING,
        manifest.platform.python if manifest.platform else MISSING,
        packages.get("torch", MISSING),
        str(manifest.threads or MISSING),
        manifest.device or MISSING,
        _kernels(manifest.kernel),
        Markup("<code>{}</code>").format(run.record.recipe_hash),
    ]


def _kernels(kernels: dict[str, str] | None) -> str:
    """The backends that ran; one word if all operations have the same."""
    if not kernels:
        return MISSING
    if len(set(kernels.values())) == 1:
        return next(iter(kernels.values()))
    return ", ".join(f"{operation} {backend}" for operation, backend in sorted(kernels.items()))


def _command(run: Run) -> str:
    """What to type for the same run."""
    words = [
        word
        for word in run.record.manifest.overrides
        if word.lstrip("+~").partition("=")[0] not in ELSEWHERE
    ]
    if not any(word.partition("=")[0] == "seed" for word in words):
        words.append(f"seed={run.record.manifest.seed}")
    return shlex.join(["python", "-m", "andrea_exp", *words])


SECTION = Section(key="provenance", title="Provenance", html=_html)
