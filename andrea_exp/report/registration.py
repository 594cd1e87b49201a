"""What an experiment had claimed when its runs began, and what was changed afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from andrea_exp.claims.registration import claims_hash
from andrea_exp.record.reader import RunRecord
from andrea_exp.report.table import Run, Table

if TYPE_CHECKING:
    from andrea_exp.claims.judge import Judgement


@final
@dataclass(frozen=True)
class Edited:
    """A claim that is not what it was when the first run began."""

    name: str
    what: str
    """Added, removed or changed, and in how many runs."""


@final
@dataclass(frozen=True)
class Registration:
    """The claims of the runs of one report."""

    digest: str
    """Their hash, seeds included."""
    seeds: list[int]
    judgements: "list[Judgement]"
    edited: list[Edited]
    exploratory: list[int]
    """Seeds that were run and were not planned; they count in no verdict."""
    forged: list[str]
    """Runs whose claims do not have the hash that they were frozen with."""


def registration(table: Table) -> Registration | None:
    """The claims of the run that started first, judged; None where no run belongs to any.

    Claims are what they were before the first run; a later version is told and not judged.
    """
    bound = [run for run in table.runs if run.record.claims_hash]
    if not bound:
        return None
    first = min(bound, key=_order)
    values = _values(first)
    planned = values["seeds"]
    records = [run.record for run in bound if not run.repeats]
    seen = {run.seed for run in bound if run.seed is not None}
    return Registration(
        digest=str(first.record.claims_hash),
        seeds=planned,
        judgements=_judged(values["claims"], records, seeds=planned),
        edited=_edited(first, bound),
        exploratory=sorted(seen - set(planned)),
        forged=[run.name.run for run in bound if claims_hash(_values(run)) != _digest(run)],
    )


def _judged(
    claims: Sequence[Any], records: Sequence[RunRecord], *, seeds: Sequence[int]
) -> "list[Judgement]":
    # These know every option's class and so take torch along, for a second and a half.
    from andrea_exp.claims.config import ClaimConfig  # noqa: PLC0415
    from andrea_exp.claims.judge import judge  # noqa: PLC0415
    from andrea_exp.config.door import open_node  # noqa: PLC0415

    typed = [
        open_node(ClaimConfig, claim, path=f"claims[{index}]") for index, claim in enumerate(claims)
    ]
    return judge(typed, records, seeds=seeds)


def _order(run: Run) -> tuple[bool, str, str]:
    """By first start; what has not started comes last."""
    started = run.record.manifest.started_at
    return (started is None, started or "", run.name.run)


def _digest(run: Run) -> str | None:
    return run.record.claims_hash


def _values(run: Run) -> dict[str, Any]:
    return {key: run.record.config.get(key) or [] for key in ("seeds", "claims")}


def _edited(first: Run, bound: Sequence[Run]) -> list[Edited]:
    """How the claims of other runs differ from those of the first."""
    was = {claim["name"]: claim for claim in _values(first)["claims"]}
    counted: dict[tuple[str, str], int] = {}
    for run in bound:
        if _digest(run) == _digest(first):
            continue
        now = {claim["name"]: claim for claim in _values(run)["claims"]}
        changes = dict.fromkeys(now.keys() - was.keys(), "added")
        changes |= dict.fromkeys(was.keys() - now.keys(), "removed")
        changes |= {name: "changed" for name in was.keys() & now.keys() if was[name] != now[name]}
        if _values(run)["seeds"] != _values(first)["seeds"]:
            changes["(seeds)"] = "changed"
        for change in changes.items():
            counted[change] = counted.get(change, 0) + 1
    return [
        Edited(name, f"{what} in {number} of {len(bound)} runs")
        for (name, what), number in sorted(counted.items())
    ]
