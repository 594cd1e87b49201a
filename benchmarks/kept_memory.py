"""A training step of a large vocabulary on the CPU, with and without kept memory, in turn.

    python -m benchmarks.kept_memory [--rounds 5] [overrides]

Each round runs both in processes of their own, since the setting cannot be undone.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import torch

import andrea_exp
from andrea_exp.train.allocator import keep_freed_memory

OVERRIDES = ("data=noise", "data.vocab=8449", "model.d_model=256", "model.vocab=null")
STEPS, WARM_UP = 12, 3


def main(argv: Sequence[str] | None = None) -> int:
    """Print each round, and the median ratio with its range."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kept_memory", description=__doc__)
    parser.add_argument("overrides", nargs="*", help=f"by default {' '.join(OVERRIDES)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", choices=("yes", "no"), help=argparse.SUPPRESS)
    arguments = parser.parse_intermixed_args(argv)
    overrides = arguments.overrides or list(OVERRIDES)
    if arguments.keep:
        step_ms, peak_mb = _steps(overrides, keep=arguments.keep == "yes")
        print(step_ms, peak_mb)
        return 0
    ratios: list[float] = []
    for number in range(1, arguments.rounds + 1):
        without, peak_without = _process(overrides, keep="no")
        kept, peak_kept = _process(overrides, keep="yes")
        ratios.append(without / kept)
        print(
            f"round {number}: {without:.1f} ms and {peak_without:.0f} MB without, "
            f"{kept:.1f} ms and {peak_kept:.0f} MB with; {ratios[-1]:.2f} times as fast",
            flush=True,
        )
    low, high = min(ratios), max(ratios)
    print(f"median {statistics.median(ratios):.2f} times as fast, {low:.2f} to {high:.2f}")
    return 0


def _process(overrides: Sequence[str], *, keep: str) -> tuple[float, float]:
    """Median step in ms and peak in MB of a process of its own."""
    command = [sys.executable, "-m", "benchmarks.kept_memory", *overrides, "--keep", keep]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    step_ms, peak_mb = (float(word) for word in done.stdout.split())
    return step_ms, peak_mb


def _steps(overrides: Sequence[str], *, keep: bool) -> tuple[float, float]:
    if keep and not keep_freed_memory():
        raise SystemExit("the C library here, or a setting of yours, leaves nothing to compare")
    run = andrea_exp.compose(*overrides)
    model = run.build_model()
    shape = (run.recipe.data.batch_size, run.recipe.model.context + 1)
    ids = torch.randint(model.sizes.used_vocab, shape)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    times: list[float] = []
    for _ in range(STEPS):
        start = time.perf_counter()
        optimizer.zero_grad()
        model.losses(ids[:, :-1], ids[:, 1:]).mean().backward()
        optimizer.step()
        times.append((time.perf_counter() - start) * 1e3)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return statistics.median(times[WARM_UP:]), peak_mb


if __name__ == "__main__":
    sys.exit(main())
