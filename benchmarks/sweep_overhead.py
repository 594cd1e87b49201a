"""What a sweep costs beyond the training and evaluation of its jobs: seconds per job.

    python benchmarks/sweep_overhead.py --jobs 200

The jobs are two-step trainings of a tiny model without a logger. What they cost by themselves is
measured in one process that trains and measures as many, without directories, records or report;
the sweep runs as a user would start it. Both in turn, several times.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time

WORDS = [
    "data=noise",
    "data.vocab=11",
    "data.validation_tokens=2000",
    "model.d_model=16",
    "model.num_heads=2",
    "model.context=8",
    "trainer.max_steps=2",
    "optimizer.schedule.warmup_steps=0",
    "evaluation.block_targets=64",
    "evaluation.sliding_targets=32",
    "evaluation.anchors=2",
    "logger.mode=disabled",
    "runtime.threads=1",
]

BARE = """
import sys, tempfile
from pathlib import Path
import andrea_exp
from andrea_exp.evaluate.probe import Probe
from andrea_exp.measure import initial, measure
from andrea_exp.evaluate.results import Throughput
from andrea_exp.train.fit import fit
from andrea_exp.train.ranks import Ranks

for seed in range(int(sys.argv[1])):
    run = andrea_exp.compose(*sys.argv[2:], f"seed={seed}")
    data, recipe = run.load_data(), run.recipe
    model = run.build_model(vocab=data.vocab)
    before = initial(model, data=data, recipe=recipe)
    with tempfile.TemporaryDirectory() as folder:
        outcome = fit(
            model, run.stream(data), optimizer=recipe.optimizer, trainer=recipe.trainer,
            runtime=run.config.running.runtime, seed=seed, checkpoints=Path(folder),
            sink=lambda row: None, stamp={}, resume=False, show_progress=False,
            ranks=Ranks.alone(),
            probe=Probe(model, data.validation(), config=recipe.evaluation),
        )
    measure(
        model, recipe=recipe, data=data, init=before, train_loss_nats=None,
        throughput=Throughput(
            tokens_per_s=None, step_ms_median=None, first_step_s=None, peak_memory_mb=None
        ),
    )
"""


def main() -> None:
    """Time both in turn and print the difference per job."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    jobs: int = arguments.jobs
    differences: list[float] = []
    for _ in range(arguments.rounds):
        bare = seconds(["-c", BARE, str(jobs), *WORDS])
        grid = f"seed=range({jobs})"
        swept = seconds(["-m", "andrea_exp", "-m", "name=bench", *WORDS, grid])
        differences.append((swept - bare) / jobs)
        print(f"{jobs} jobs: alone {bare:.1f} s, as a sweep {swept:.1f} s", flush=True)
    print(
        f"beyond training and evaluation: {statistics.median(differences):.3f} s a job "
        f"(from {min(differences):.3f} to {max(differences):.3f})"
    )


def seconds(words: list[str]) -> float:
    """How long Python takes for these words in an empty folder."""
    with tempfile.TemporaryDirectory() as scratch:
        began = time.perf_counter()
        subprocess.run([sys.executable, *words], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
