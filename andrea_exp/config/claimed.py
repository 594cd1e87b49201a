"""An experiment's claims beside its grid: each must speak of what will be run and measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from andrea_exp.claims.config import POLICY, ClaimConfig
from andrea_exp.component import Refusal
from andrea_exp.config.catalogue import groups, nearest
from andrea_exp.config.run import RunConfig


def check_claims(
    config: RunConfig, *, grid: Mapping[str, Sequence[str]], values: Mapping[str, Any]
) -> None:
    """Check every claim of an experiment.

    Args:
        config: one of its runs.
        grid: what it sweeps over.
        values: the resolved values of that run.

    Raises:
        Refusal: a claim names an arm that the grid does not have, or a number that is not measured.
    """
    for claim in config.running.claims:
        claim.check_scored(config.recipe.evaluation)
        for word in [*claim.arm, *(claim.than or [])]:
            _check_word(claim, word, grid=grid, values=values)


def _check_word(
    claim: ClaimConfig,
    word: str,
    *,
    grid: Mapping[str, Sequence[str]],
    values: Mapping[str, Any],
) -> None:
    key, _, value = word.partition("=")
    if key == POLICY:
        return
    if key in grid:
        if value not in grid[key]:
            raise Refusal(
                f"claim {claim.name}: the grid has no {word}{nearest(value, grid[key])}; "
                f"it has {key}={','.join(grid[key])}"
            )
    elif key in groups():
        if value not in groups()[key]:
            raise Refusal(f"claim {claim.name}: {word} is no option{nearest(value, groups()[key])}")
    elif not _has(values, key):
        raise Refusal(f"claim {claim.name}: there is no key {key} in conf/; it says {word}")


def _has(values: Mapping[str, Any], key: str) -> bool:
    found: Any = values
    for part in key.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return False
        found = found[part]
    return True
