"""The benchmarks run; what they measure is for people to read."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def printed(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / words[0]), *words[1:]],
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
def test_kept_memory_is_measured_in_turn_with_memory_that_is_given_back() -> None:
    told = printed("kept_memory.py", "--rounds", "1", "data=noise", "data.vocab=257")
    assert re.search(r"^median [\d.]+ times as fast, [\d.]+ to [\d.]+$", told, re.MULTILINE)
