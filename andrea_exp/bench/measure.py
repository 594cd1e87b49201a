"""All backends of one operation beside each other, and what their times say."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, NamedTuple

import torch

from andrea_exp.bench.check import Truth
from andrea_exp.bench.clock import Clock
from andrea_exp.bench.entrant import Entrant
from andrea_exp.bench.example import Example, Load
from andrea_exp.bench.rounds import in_turn, spread
from andrea_exp.bench.task import Task
from andrea_exp.kernel.backend import BackendConfig
from andrea_exp.record.bench import Pass, Row

REFERENCE: Final = "torch"
"""The backend that the others are compared with."""
BUDGET_MS: Final = 250.0
"""Of every call that takes part: a few hundred short rounds, or some of a large model, and with two
passes of three operations at three sizes a minute is enough for a handful of backends."""


@dataclass(kw_only=True, frozen=True)
class Gauge:
    """The clock of a device, and what the device reaches at best."""

    clock: Clock
    copy_gb_per_s: float
    product_tflop_per_s: float


class Times(NamedTuple):
    """Milliseconds of every round."""

    forward: Sequence[float]
    both: Sequence[float]
    """Forward and backward in one go."""


def rows(task: Task, options: Mapping[str, BackendConfig], gauge: Gauge) -> list[Row]:
    """One row per backend, in the order of the options.

    Args:
        task: with the sizes at which backends are timed.
        options: backend -> its configuration; `torch` is one of them.
        gauge: of the device.
    """
    torch.compiler.reset()  # or what was compiled before would be made fit for sizes of any kind
    entrants = [Entrant(task, backend, name=name) for name, backend in options.items()]
    reference = options[REFERENCE].build()
    truth = None
    for use in task.checked():
        truth = Truth(task, use, reference=reference, larger=truth)
        for entrant in entrants:
            entrant.check(truth)
    example = task.example(task.use)
    for entrant in entrants:
        entrant.judge()
        entrant.try_out(example)
    times = _times([entrant for entrant in entrants if entrant.going], example, gauge.clock)
    return [_row(task, entrant, example=example, times=times, gauge=gauge) for entrant in entrants]


def _times(entrants: Sequence[Entrant], example: Example, clock: Clock) -> dict[str, Times]:
    calls: dict[tuple[str, str], Callable[[], object]] = {}
    for entrant in entrants:
        kernel = entrant.kernel
        calls[entrant.name, "forward"] = lambda kernel=kernel: example.forward(kernel)
        calls[entrant.name, "both"] = lambda kernel=kernel: example.forward_backward(kernel)
    found = in_turn(calls, clock, budget_ms=BUDGET_MS)
    return {
        each.name: Times(found[each.name, "forward"], found[each.name, "both"]) for each in entrants
    }


def _row(
    task: Task,
    entrant: Entrant,
    *,
    example: Example,
    times: Mapping[str, Times],
    gauge: Gauge,
) -> Row:
    forward = both = backward = None
    own, beside, trial = times.get(entrant.name), times.get(REFERENCE), entrant.trial
    if own is not None and trial is not None:
        load = example.forward_load
        forward = _pass(
            own.forward,
            beside and beside.forward,
            load=load,
            peak_bytes=trial.forward_peak_bytes,
            gauge=gauge,
        )
        both = _pass(
            own.both,
            beside and beside.both,
            load=load.then(example.backward_load),
            peak_bytes=trial.both_peak_bytes,
            gauge=gauge,
        )
        backward = median(whole - part for whole, part in zip(own.both, own.forward, strict=True))
    return Row(
        operation=task.operation,
        backend=entrant.name,
        runs_as=entrant.runs_as,
        outcome=entrant.outcome.name,
        reasons=entrant.reasons,
        agreement=entrant.agreement,
        bits_repeat=trial and trial.bits_repeat,
        rounds=own and len(own.forward),
        forward=forward,
        forward_backward=both,
        backward_ms_median=backward,
    )


def _pass(
    ms: Sequence[float],
    reference_ms: Sequence[float] | None,
    *,
    load: Load,
    peak_bytes: int,
    gauge: Gauge,
) -> Pass:
    own = spread(ms)
    ratio = None
    if reference_ms is not None:
        ratio = spread([mine / its for mine, its in zip(ms, reference_ms, strict=True)])
    gb_per_s = load.moved_bytes / own.median / 1e6
    tflop_per_s = None if load.flops is None else load.flops / own.median / 1e9
    return Pass(
        ms_median=own.median,
        ms_q1=own.q1,
        ms_q3=own.q3,
        ratio_to_torch=ratio and ratio.median,
        ratio_q1=ratio and ratio.q1,
        ratio_q3=ratio and ratio.q3,
        moved_bytes=load.moved_bytes,
        gb_per_s=gb_per_s,
        fraction_of_copy=gb_per_s / gauge.copy_gb_per_s,
        tflop_per_s=tflop_per_s,
        fraction_of_product=tflop_per_s and tflop_per_s / gauge.product_tflop_per_s,
        peak_memory_bytes=peak_bytes,
    )
