"""The benchmarks run; what they measure is for people to read."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def printed(*words: str) -> str:
    return printed_by(str(BENCHMARKS / words[0]), *words[1:])


def printed_by(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=BENCHMARKS.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_overhead_of_a_sweep_is_measured_per_job() -> None:
    assert re.search(r"\d s.* a job", printed("sweep_overhead.py", "--jobs", "2", "--rounds", "1"))


@pytest.mark.slow
def test_the_report_of_many_runs_is_measured_whole_and_by_section() -> None:
    told = printed("report_size.py", "--runs", "10", "--sections")
    assert re.match(r"10 runs: [\d.]+ s by the clock, [\d.]+ s of processor time, [\d.]+ MB", told)
    assert re.search(r"^provenance +[\d.]+ s +[\d.]+ MB$", told, re.MULTILINE)


@pytest.mark.slow
def test_training_steps_of_several_compositions_are_compared_in_turn() -> None:
    small = ("data=noise", "data.vocab=37", "data.batch_size=2", "model.d_model=16")
    told = printed_by(
        *("-m", "benchmarks.training_step", *small, "runtime.threads=1", "--seconds", "0.01"),
        *("--", "position=none", "--", "position=alibi", "trainer.precision=bf16"),
    )
    first, second = told.splitlines()
    assert re.match(r"position=none: [\d.]+ ms \(.* to .*\), 1\.000 of the first \(1\.000", first)
    assert re.match(r"position=alibi trainer.precision=bf16: [\d.]+ ms .*, peak [\d.]+ MB", second)


def test_a_device_for_each_composition_is_refused() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.training_step"),
            *("--", "runtime.threads=1", "--", "runtime.threads=2"),
        ],
        cwd=BENCHMARKS.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "andrea_exp: one sitting has one runtime: give it before the first --\n"
