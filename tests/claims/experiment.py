"""A claim, and runs of an experiment as they would be read; only what a verdict looks at."""

from pathlib import Path
from typing import Any

from andrea_exp.claims.config import ClaimConfig
from andrea_exp.config.door import open_node
from andrea_exp.record.manifest import Manifest, Status
from andrea_exp.record.reader import RunRecord

CLAIM = {
    "name": "flat",
    "statement": "ALiBi rises less than the sinusoid.",
    "source": "Press et al. 2022",
    "kind": "better",
    "metric": "rise_nats",
    "minus": None,
    "factor": 2.0,
    "protocol": "block",
    "direction": "lower",
    "margin": 0.1,
    "threshold": None,
    "arm": ["position=alibi"],
    "than": ["position=sinusoidal"],
}
SEEDS = list(range(8))


def claim(**changes: Any) -> ClaimConfig:
    return open_node(ClaimConfig, {**CLAIM, **changes}, path="claims[0]")


def record(
    position: str,
    seed: int,
    *,
    rises: dict[str, float] | None = None,
    loss: float = 2.0,
    status: Status = Status.completed,
    lr: float = 0.003,
    **results: Any,
) -> RunRecord:
    """One run; `rises` are by policy, the declared one first."""
    policies = rises or {"formula": 0.5}
    declared = next(iter(policies))
    rows = [_row(1.0, declared, loss=loss, rise=0.0)]
    rows += [_row(2.0, policy, loss=loss + rise, rise=rise) for policy, rise in policies.items()]
    manifest = Manifest.pending(seed=seed, argv=[], overrides=[], choices={})
    return RunRecord(
        path=Path(),
        name=f"{position}-{seed}",
        recipe_hash=f"{position}{seed}{lr}",
        claims_hash="0123456789ab",
        choices={"position": position},
        config={"seed": seed, "optimizer": {"lr": lr}},
        manifest=manifest,
        metrics=[],
        results={"lengths": rows, "final": {"val_loss_nats": loss}, **results}
        if status is Status.completed
        else None,
        status=status,
    )


def _row(factor: float, beyond: str, *, loss: float, rise: float) -> dict[str, Any]:
    return {
        "factor": factor,
        "protocol": "block",
        "beyond": beyond,
        "status": "ok",
        "reason": None,
        "loss_nats": loss,
        "rise_nats": rise,
        "accuracy": 0.5,
    }


def arms(first: list[float], second: list[float]) -> list[RunRecord]:
    """ALiBi and the sinusoid with these rises, seed by seed."""
    return [
        record(position, seed, rises={"formula": rise})
        for position, rises in (("alibi", first), ("sinusoidal", second))
        for seed, rise in enumerate(rises)
    ]
