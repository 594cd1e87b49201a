"""A comparison of backends from end to end: block after block, operation by operation.

Threads and deterministic operations are those of a training, and a GPU is claimed as by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import torch

from andrea_exp.bench.attention import AttentionTask
from andrea_exp.bench.clock import clock_of
from andrea_exp.bench.compositions import Composition, asked
from andrea_exp.bench.cross_entropy import CrossEntropyTask
from andrea_exp.bench.embedding import EmbeddingTask
from andrea_exp.bench.machine import copy_gb_per_s, product_tflop_per_s
from andrea_exp.bench.measure import Gauge, rows
from andrea_exp.kernel.backend import BackendConfig, Use
from andrea_exp.record.bench import Bench, Block
from andrea_exp.record.environment import packages, this_platform
from andrea_exp.record.manifest import utc_now
from andrea_exp.train.config import RuntimeConfig
from andrea_exp.train.devices import claimed
from andrea_exp.train.runtime import device_name, resolve_threads, settings

TASKS = (EmbeddingTask, AttentionTask, CrossEntropyTask)
"""In the order in which a model calls them."""
Options = Mapping[str, Mapping[str, BackendConfig]]
"""Operation -> backend -> its configuration."""


def blocks(compositions: Sequence[Composition], options: Options) -> Iterator[Block]:
    """Each composition in its turn, as soon as it is measured."""
    gauges: dict[tuple[RuntimeConfig, torch.dtype], Gauge] = {}
    for composition in compositions:
        runtime, use = composition.run.config.running.runtime, composition.use
        with claimed(replace(runtime, devices=1)), settings(runtime):
            if (runtime, use.dtype) not in gauges:
                gauges[runtime, use.dtype] = _gauge(use)
            yield _block(composition, options, gauge=gauges[runtime, use.dtype])


def bench(overrides: Sequence[str], measured: Sequence[Block]) -> Bench:
    """The record of a sitting that ends now."""
    return Bench(
        recorded_at=utc_now(),
        overrides=list(overrides),
        platform=this_platform(),
        packages={**packages(), "torch": torch.__version__},  # with its build, say +cpu
        blocks=list(measured),
    )


def _gauge(use: Use) -> Gauge:
    clock = clock_of(use.device)
    return Gauge(
        clock=clock,
        copy_gb_per_s=copy_gb_per_s(use.device, clock),
        product_tflop_per_s=product_tflop_per_s(use.device, use.dtype, clock),
    )


def _block(composition: Composition, options: Options, *, gauge: Gauge) -> Block:
    runtime, use = composition.run.config.running.runtime, composition.use
    wanted = asked(composition)
    tasks = [kind(wanted) for kind in TASKS]
    return Block(
        label=composition.label,
        device=device_name(runtime),
        threads=resolve_threads(runtime),
        sequences=use.batch,
        tokens=use.length,
        width=use.width,
        heads=use.heads,
        vocab=use.vocab,
        precision=str(use.dtype).removeprefix("torch."),
        biased=use.biased,
        causal=use.causal,
        dropout=use.dropout,
        compiled=use.compiled,
        copy_gb_per_s=gauge.copy_gb_per_s,
        product_tflop_per_s=gauge.product_tflop_per_s,
        rows=[row for task in tasks for row in rows(task, options[task.operation], gauge)],
    )
