"""The commands on the smallest run that has every part, and what such a run left."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typing_extensions import override

from andrea_exp.config.request import Request, request
from andrea_exp.execution import execute
from andrea_exp.freeze import freeze_single
from andrea_exp.record.manifest import Status
from andrea_exp.record.metrics import is_time_column, read_metrics
from tests import options

RUNNING = ("logger.mode=disabled", "runtime.threads=1")
SHORT = ("trainer.max_steps=4", "optimizer.schedule.warmup_steps=0")
SMALL = ("model.d_model=16", "model.num_heads=2", "model.context=8")
NOISE = ("data=noise", "data.vocab=11", "data.validation_tokens=2000")
QUICK = (
    "evaluation.block_targets=64",
    "evaluation.sliding_targets=32",
    "evaluation.anchors=2",
    "evaluation.hidden_windows=4",
    "evaluation.order_windows=4",
)
WORDS = (*NOISE, *SMALL, *SHORT, *QUICK, *RUNNING)
"""D 16, 2 heads, 2 layers, T 8, V 11, 4 steps: half a second. Later words beat these."""
LEAN = (
    *("model.num_layers=1", "model.num_heads=1", "data.validation_tokens=100"),
    *(
        "evaluation.length_factors=[1]",
        "evaluation.block_targets=16",
        "evaluation.sliding_targets=8",
    ),
    *("evaluation.hidden_windows=2", "evaluation.order_windows=1"),
    "evaluation.probe_every_steps=null",
)
"""Beside `WORDS`, for kernels that an interpreter runs: it takes a second for a step."""
WARNED = ("model.num_layers=0", "position=rope")
"""What a walk warns of: nowhere to turn."""


def train(*words: str) -> Path:
    """Train and measure as the command does, without report and summary; the run directory."""
    return train_request(request(words))


def train_request(asked: Request) -> Path:
    """The same for words that have been composed already."""
    run = freeze_single(asked).path
    assert execute(run) is Status.completed
    return run


class _Signals(logging.Handler):
    def __init__(self, number: signal.Signals) -> None:
        super().__init__()
        self._left = [number]

    @override
    def emit(self, record: logging.LogRecord) -> None:
        while self._left:
            signal.raise_signal(self._left.pop())


@contextmanager
def signal_at_first_warning(number: signal.Signals) -> Generator[None]:
    """Signal this process when a walk warns; of `WARNED` it does so before it reads the data."""
    handler = _Signals(number)
    logging.getLogger("andrea_exp.walk").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("andrea_exp.walk").removeHandler(handler)


def only_run(place: Path, name: str = "runs") -> Path:
    """The one run in `outputs/<name>`."""
    (run,) = runs(place, name)
    return run


def runs(place: Path, name: str = "runs") -> list[Path]:
    """The run directories in `outputs/<name>`, by name."""
    return sorted(path for path in (place / "outputs" / name).glob("[!.]*") if path.is_dir())


def manifest(run: Path) -> dict[str, Any]:
    """Its manifest."""
    return json.loads((run / "manifest.json").read_text(encoding="utf-8"))


def results(run: Path) -> dict[str, Any]:
    """Its results."""
    return json.loads((run / "results.json").read_text(encoding="utf-8"))


def metrics(run: Path) -> list[dict[str, Any]]:
    """Its rows without the columns that a clock fills."""
    return [
        {name: value for name, value in row.items() if not is_time_column(name)}
        for row in read_metrics(run / "metrics.jsonl")
    ]


def weights(run: Path) -> bytes:
    """Its final weights."""
    return (run / "model.safetensors").read_bytes()


def files(place: Path) -> set[str]:
    """Every file at or below a folder, relative to it."""
    return {path.relative_to(place).as_posix() for path in place.rglob("*") if not path.is_dir()}


def start(
    place: Path, *words: str, path: Path | None = None, module: str = "andrea_exp"
) -> "subprocess.Popen[str]":
    """A command as a process of its own in a folder; `path` is searched for modules first."""
    search = [str(path)] * (path is not None) + [str(options.PACKAGE.parent)]
    return subprocess.Popen(
        [sys.executable, "-m", module, *words],
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(search), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def python(code: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(options.PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.strip()
