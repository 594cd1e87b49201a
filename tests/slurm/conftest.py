"""A real Slurm for the tests that ask for one."""

import os
from collections.abc import Generator

import pytest

from tests.slurm.cluster import Cluster, reasons, running

REQUIRED = "ANDREA_EXP_REQUIRE_SLURM"
"""Set to 1, as CI does, a missing Slurm is a failure."""


@pytest.fixture(scope="session")
def cluster() -> Generator[Cluster]:
    """A cluster that Slurm's commands find, in this process and in those that it starts."""
    if found := reasons():
        why = "; ".join(found)
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(f"{REQUIRED}=1, but {why}")
        pytest.skip(why)
    with running() as started, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(started.settings))
        yield started
