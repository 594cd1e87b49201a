import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from typing_extensions import override

from andrea_exp.logger.base import Cell, Disabled, Guarded, Labels, Logger, LoggerConfig, Mode
from andrea_exp.record.manifest import LogIdentity

LABELS = Labels(name="n", group="g", job_type="train", tags=[])


class Failing(Logger):
    """A service that is lost at the chosen call."""

    def __init__(self, *, at: str) -> None:
        self.at = at
        self.calls: list[str] = []

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self.at:
            raise ConnectionResetError("lost\nthe server")

    @override
    def log(self, row: Mapping[str, float | int | None]) -> None:
        self._call("log")

    @override
    def table(self, name: str, *, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        self._call("table")

    @override
    def image(self, name: str, source: Path | bytes) -> None:
        self._call("image")

    @override
    def finish(self, summary: Mapping[str, float | int | None], *, failed: bool) -> None:
        self._call("finish")

    @override
    def identity(self) -> LogIdentity:
        return LogIdentity(id="x1", mode="online", directory="here")


@dataclass(kw_only=True, frozen=True)
class TestBaseConfig(LoggerConfig):
    """An option whose service raises when it is opened."""

    __test__ = False
    error: type[BaseException]

    @override
    def reasons(self) -> list[str]:
        return []

    @override
    def connect(
        self,
        *,
        directory: Path,
        labels: Labels,
        config: Mapping[str, object],
        resume_id: str | None,
    ) -> Logger:
        raise self.error("nobody there")


def call_all(logger: Logger) -> None:
    logger.log({"step": 1})
    logger.table("t", columns=["a"], rows=[[1]])
    logger.image("i", b"")
    logger.log({"step": 2})
    logger.finish({"loss": 1.0}, failed=False)


def open_logger(mode: Mode, error: type[BaseException]) -> Logger:
    option = TestBaseConfig(name="test_base", mode=mode, error=error)
    return option.open(directory=Path(), labels=LABELS, config={}, resume_id=None)


@pytest.mark.parametrize("at", ["log", "table", "image", "finish"])
def test_the_first_error_is_told_once_and_nothing_is_asked_after_it(
    caplog: pytest.LogCaptureFixture, at: str
) -> None:
    inner = Failing(at=at)
    logger = Guarded(inner, name="test_base")
    call_all(logger)
    order = ["log", "table", "image", "log", "finish"]
    assert inner.calls == order[: order.index(at) + 1]
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    said = "logger=test_base failed: ConnectionResetError: lost the server; the run goes on"
    assert said in record.getMessage()
    assert logger.identity() == LogIdentity(id="x1", mode="online (lost)", directory="here")


def test_a_service_that_works_is_asked_everything(caplog: pytest.LogCaptureFixture) -> None:
    inner = Failing(at="never")
    logger = Guarded(inner, name="test_base")
    call_all(logger)
    assert inner.calls == ["log", "table", "image", "log", "finish"]
    assert logger.identity().mode == "online"
    assert caplog.records == []


def test_ctrl_c_is_not_an_error_of_the_service() -> None:
    with pytest.raises(KeyboardInterrupt):
        open_logger(Mode.online, KeyboardInterrupt)


def test_a_service_that_cannot_be_opened_is_told_once_and_shows_in_the_identity(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger = open_logger(Mode.online, TimeoutError)
    call_all(logger)
    (record,) = caplog.records
    assert "logger=test_base cannot be opened online: TimeoutError: nobody" in record.getMessage()
    assert logger.identity() == LogIdentity(id=None, mode="online (unreachable)", directory=None)


def test_a_disabled_logger_opens_nothing_and_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    logger = open_logger(Mode.disabled, AssertionError)
    call_all(logger)
    assert isinstance(logger, Disabled)
    assert logger.identity() == LogIdentity(id=None, mode="disabled", directory=None)
    assert caplog.records == []
