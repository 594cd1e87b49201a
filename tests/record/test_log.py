"""What is said during a run, in the file and on the terminal."""

import logging
from pathlib import Path

import pytest

from andrea_exp.record.log import logging_to
from tests.small_disk import fill, small_disk

Said = pytest.CaptureFixture[str]
LOG = logging.getLogger("somebody")


def fail() -> None:
    try:
        raise ZeroDivisionError("never")
    except ZeroDivisionError:
        LOG.exception("stopped")


def test_the_file_has_everything_and_the_terminal_one_line_of_what_is_wrong(
    tmp_path: Path, capsys: Said
) -> None:
    with logging_to(tmp_path / "run.log"):
        LOG.info("begins")
        fail()
    assert capsys.readouterr().err == "ERROR: stopped\n"
    text = (tmp_path / "run.log").read_text(encoding="utf-8")
    assert "INFO somebody: begins" in text
    assert "ZeroDivisionError: never" in text


def test_home_and_secrets_stay_out_of_tracebacks_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "x7" * 20)
    monkeypatch.setenv("HOME", "/home/ab")
    with logging_to(tmp_path / "run.log"):
        try:
            raise ValueError("/home/ab/file " + "x7" * 20)
        except ValueError:
            LOG.exception("failed")
    text = (tmp_path / "run.log").read_text(encoding="utf-8")
    assert "ValueError: ~/file ***" in text
    assert "x7x7" not in text


def test_a_full_disk_costs_one_line_and_no_traceback(tmp_path: Path, capsys: Said) -> None:
    with small_disk(tmp_path / "disk", size=40_960) as disk:
        fill(disk, leave=0)
        with logging_to(disk / "run.log"):
            LOG.warning("still said")
            LOG.warning("and this")
        lines = capsys.readouterr().err.splitlines()
    lost = f"WARNING: {disk}/run.log lacks lines: No space left on device"
    assert sorted(lines) == sorted([lost, "WARNING: still said", "WARNING: and this"])
