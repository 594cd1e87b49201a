"""Memory that a step frees stays with the process, where glibc is the C library."""

import os
import platform
import subprocess
import sys

import pytest

from tests import options

needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
PROGRAM = """
import resource
import torch
from andrea_exp.train.allocator import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        torch.ones(2 * 10**6)  # 8 MB, some two thousand pages
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

fresh, told = faults(), keep_freed_memory()
faults()  # aligned blocks take some turns to fit into their own holes
print(fresh, told, faults())
"""


def answer(**environment: str) -> list[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**kept, "PYTHONPATH": str(options.PACKAGE.parent), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.split()


@needs_glibc
def test_kept_blocks_cost_no_page_faults():
    fresh, told, kept = answer()
    assert told == "True"
    assert int(kept) < int(fresh) / 10


@needs_glibc
def test_a_setting_of_the_user_stays():
    fresh, told, kept = answer(MALLOC_TRIM_THRESHOLD_="131072")
    assert told == "False"
    assert int(kept) > int(fresh) / 2
