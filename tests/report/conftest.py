from pathlib import Path

import pytest

from andrea_exp.report.page import read
from andrea_exp.report.table import Table, table_of
from benchmarks.synthetic_runs import make_run, make_sweep


@pytest.fixture(scope="session")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sweep(tmp_path_factory.mktemp("outputs") / "ablation")


@pytest.fixture(scope="session")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("outputs"), job="20260102-030405")


@pytest.fixture(scope="session")
def sweep_table(sweep: Path) -> Table:
    return table_of(read([sweep]))


@pytest.fixture(scope="session")
def single_table(single: Path) -> Table:
    return table_of(read([single]))
