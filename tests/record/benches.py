"""A record of bench with one row of every kind, made without measuring."""

from typing import Any

from andrea_exp.record.bench import Agreement, Bench, Block, Pass, Row
from andrea_exp.record.manifest import Platform


def one_pass(**changes: Any) -> Pass:
    values: dict[str, Any] = {
        "ms_median": 1.25,
        "ms_q1": 1.125,
        "ms_q3": 1.5,
        "ratio_to_torch": 0.5,
        "ratio_q1": 0.45,
        "ratio_q3": 0.55,
        "moved_bytes": 8_000_000,
        "gb_per_s": 6.4,
        "fraction_of_copy": 0.64,
        "tflop_per_s": 0.02,
        "fraction_of_product": 0.2,
        "peak_memory_bytes": 3_000_000,
    }
    return Pass(**{**values, **changes})


def row(**changes: Any) -> Row:
    values: dict[str, Any] = {
        "operation": "cross_entropy",
        "backend": "swift",
        "runs_as": "swift (interpreted)",
        "outcome": "timed",
        "reasons": [],
        "agreement": Agreement(result="output", error=2e-7, limit=8e-7, sequences=2, tokens=63),
        "bits_repeat": True,
        "rounds": 40,
        "forward": one_pass(),
        "forward_backward": one_pass(ms_median=4321.0, ratio_to_torch=None, ratio_q1=None),
        "backward_ms_median": 3.0,
    }
    return Row(**{**values, **changes})


def untimed(**changes: Any) -> Row:
    nothing = dict.fromkeys(("bits_repeat", "rounds", "forward", "forward_backward"))
    return row(**{**nothing, "backward_ms_median": None, **changes})


ROWS = (
    row(),
    untimed(
        backend="wrong",
        outcome="differs",
        reasons=["output: off by 1, where 8e-07 is allowed"],
        agreement=Agreement(result="output", error=None, limit=8e-7, sequences=1, tokens=1),
    ),
    untimed(
        backend="absent",
        outcome="cannot",
        runs_as=None,
        reasons=["torch finds no CUDA GPU", "it is not installed"],
        agreement=None,
    ),
)


def block(**changes: Any) -> Block:
    values: dict[str, Any] = {
        "label": "32 sequences",
        "device": "Some Processor",
        "threads": 2,
        "sequences": 32,
        "tokens": 64,
        "width": 128,
        "heads": 4,
        "vocab": 50_257,
        "precision": "float32",
        "biased": True,
        "causal": True,
        "dropout": 0.0,
        "compiled": False,
        "copy_gb_per_s": 10.0,
        "product_tflop_per_s": 0.1,
        "rows": list(ROWS),
    }
    return Block(**{**values, **changes})


def bench(**changes: Any) -> Bench:
    values: dict[str, Any] = {
        "recorded_at": "2026-01-02T03:04:05.000+00:00",
        "overrides": ["position=alibi"],
        "platform": Platform(system="Linux 6", machine="x86_64", python="3.11.7"),
        "packages": {"torch": "2.13.0+cpu", "triton": "3.7.1", "numpy": "2.4.6"},
        "blocks": [block()],
    }
    return Bench(**{**values, **changes})
