"""What holds for every test."""

import importlib
import os
from collections.abc import Generator
from importlib.util import find_spec

import pytest

from andrea_exp.command import let_waiting_threads_sleep
from andrea_exp.data.cache import VARIABLE

let_waiting_threads_sleep()  # test processes share the cores

import torch  # noqa: E402 - reads the setting above when it is imported

# Triton reads this when kernels are defined, and defines some when it is imported itself.
if not torch.cuda.is_available() and find_spec("triton"):
    os.environ.setdefault("TRITON_INTERPRET", "1")
    importlib.import_module("triton")

# Sums are split by thread, so their last bits depend on how many there are.
torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """No test reads or writes the user's own cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield
