"""A folder to work in, and one finished run that several tests read."""

from pathlib import Path

import pytest

from andrea_exp.__main__ import main
from tests.commands import tiny


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a completed tiny run; to be read only."""
    place = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(list(tiny.WORDS)) == 0
    return tiny.only_run(place)
