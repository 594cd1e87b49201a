"""Where every number comes from, and how to get it again."""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from markupsafe import Markup

from andrea_exp.record.manifest import Manifest
from andrea_exp.report.format import MISSING, count, quantity
from andrea_exp.report.labels import settings
from andrea_exp.report.markup import LONG, Cell, Column, data_table, fragment, paragraph
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import Run, Table

HEADS = ("run", "status", "seed", "threads", "device", "kernels", "recipe", "directory")
ELSEWHERE = ("outputs", "resume", "rerun")
"""Keys that say where a run lies or how it was started again; they belong to one machine."""
PROGRAM = ("python", "-m", "andrea_exp")
SWEEP = {"-m", "--multirun"}
"""Words of a command that makes many runs."""


def _html(table: Table) -> Markup:
    text = (
        "Below its title, each section names the files, and in brackets the keys, that its numbers "
        "were read from; they lie in the directories of the runs that its table names."
    )
    return Markup("").join(
        [
            paragraph(text),
            _runs(table),
            _surroundings(table.runs),
            _differences(table.runs),
            _commands(table.runs),
        ]
    )


def _runs(table: Table) -> Markup:
    return data_table(
        key="provenance-table",
        caption="Which run is which directory, and on what it ran.",
        columns=[Column(head=head) for head in HEADS],
        rows=[_row(run) for run in table.runs],
    )


def _row(run: Run) -> list[Cell]:
    manifest = run.record.manifest
    return [
        run.name.run,
        run.record.status.name,
        str(manifest.seed),
        str(manifest.threads or MISSING),
        manifest.device or MISSING,
        _kernels(manifest.kernel),
        Markup("<code>{}</code>").format(run.record.recipe_hash),
        Markup("<code>{}</code>").format(run.record.name),
    ]


def _kernels(kernels: dict[str, str] | None) -> str:
    """The backends that ran; a name that all operations share is told once."""
    if not kernels:
        return MISSING
    ran = sorted(kernels.items())
    if len(set(kernels.values())) == 1:
        return ran[0][1]
    split = [(operation, *backend.removesuffix(")").split(" (", 1)) for operation, backend in ran]
    if len({backend for _, backend, *_ in split}) > 1:
        return ", ".join(f"{operation} {backend}" for operation, backend in ran)
    kinds = [f"{operation} {kind}" for operation, _, *rest in split for kind in rest]
    return f"{split[0][1]} ({', '.join(kinds)})"


def _surroundings(runs: Sequence[Run]) -> Markup:
    """What should be the same in all runs: one line for each fact, with counts where it is not."""
    facts: dict[str, Callable[[Manifest], str | None]] = {
        "program": _program,
        "data": _data,
        "Python": lambda manifest: manifest.platform and manifest.platform.python,
    }
    rows = [[name, *_counted(runs, fact)] for name, fact in facts.items()]
    return data_table(
        key="provenance-surroundings",
        caption="With what the runs were made. The same program, data, number of threads and kind "
        "of machine give the same bits.",
        columns=[
            Column(head="what"),
            Column(head="which", kind="prose"),
            Column(head="runs", kind="words"),
        ],
        rows=[*rows, *_packages(runs)],
    )


def _counted(runs: Sequence[Run], fact: Callable[[Manifest], str | None]) -> list[Cell]:
    """The values of a fact, and how many runs have each."""
    found = [fact(run.record.manifest) or "not recorded" for run in runs]
    values = sorted(set(found))
    if len(values) == 1:
        return [values[0], "all"]
    return [_lines(values), _lines([str(found.count(value)) for value in values])]


def _lines(texts: Sequence[str]) -> Markup:
    return Markup("<br>").join(texts)


def _program(manifest: Manifest) -> str | None:
    if manifest.git is None:
        return None
    commit = f"commit {manifest.git.sha}"
    if not manifest.git.dirty:
        return commit
    patch = manifest.git.patch
    where = "in files that git does not follow" if patch is None else f"by {patch} of its directory"
    return f"{commit}, changed {where}"


def _data(manifest: Manifest) -> str | None:
    data = manifest.data
    if data is None:
        return None
    size = "endless" if data.tokens is None else f"{count(data.tokens)} tokens"
    return f"{data.name}, {size}, fingerprint {data.fingerprint}"


def _packages(runs: Sequence[Run]) -> Iterator[list[Cell]]:
    """Those that all runs share in one line, and each that differs in a line of its own."""
    found = [run.record.manifest.packages for run in runs]
    known = [versions for versions in found if versions is not None]
    names = sorted({name for versions in known for name in versions})
    shared = [name for name in names if len({versions.get(name) for versions in known}) == 1]
    if shared:
        listed = ", ".join(f"{name} {known[0][name]}" for name in shared)
        yield ["packages", listed, "all" if len(known) == len(found) else str(len(known))]
    for name in names:
        if name not in shared:
            yield [name, *_counted(runs, _version(name))]


def _version(name: str) -> Callable[[Manifest], str | None]:
    return lambda manifest: (manifest.packages or {}).get(name)


def _differences(runs: Sequence[Run]) -> Markup:
    """The values in which arms differ, or runs of one arm."""
    if len(runs) == 1:
        return Markup()
    arms = {arm: [_chosen(run) for run in own] for arm, own in groupby(runs, lambda run: run.arm)}
    all_runs = [values for every in arms.values() for values in every]
    keys = sorted({key for values in all_runs for key in values})
    differing = [key for key in keys if len({values.get(key) for values in all_runs}) > 1]
    if not differing:
        return paragraph("The configurations of these runs differ in nothing but their seeds.")
    return data_table(
        key="provenance-settings",
        caption="The choices and values in which the configurations differ, seeds aside. A dash: "
        "an arm has no such key.",
        columns=[Column(head="key"), *(Column(head=arm, kind="words") for arm in arms)],
        rows=[[key, *(_values(every, key) for every in arms.values())] for key in differing],
    )


def _chosen(run: Run) -> Mapping[str, str]:
    """Group -> option, and dotted key -> value, as they are typed."""
    values = {key: _typed(value) for key, value in settings(run.record)}
    return {**run.record.choices, **values}


def _typed(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _values(every: Sequence[Mapping[str, str]], key: str) -> str:
    return "; ".join(sorted({values.get(key, MISSING) for values in every}))


def _commands(runs: Sequence[Run]) -> Markup:
    """What to type for the same runs: one command for each sweep, and one for each other run."""
    swept: dict[str, int] = {}
    alone: list[tuple[str, str]] = []
    for run in runs:
        words = run.record.manifest.argv
        if SWEEP.isdisjoint(words[len(PROGRAM) :]):
            alone.append((run.name.run, _command(run)))
        else:
            command = shlex.join(_portable(words))
            swept[command] = swept.get(command, 0) + 1
    listed = [(quantity(number, "run"), command) for command, number in swept.items()] + alone
    text = "To make these runs again, with the program as it was:"
    return paragraph(text) + fragment("commands", {"runs": listed, "folded": len(listed) > LONG})


def _command(run: Run) -> str:
    """What to type for the same run."""
    words = _portable(run.record.manifest.overrides)
    if not any(word.partition("=")[0] == "seed" for word in words):
        words.append(f"seed={run.record.manifest.seed}")
    return shlex.join([*PROGRAM, *words])


def _portable(words: Sequence[str]) -> list[str]:
    return [word for word in words if word.lstrip("+~").partition("=")[0] not in ELSEWHERE]


SECTION = Section(
    key="provenance",
    title="Provenance",
    source="manifest.json, config.yaml",
    html=_html,
)
