"""What a logger option offers, and how training stays independent of it."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import final

from typing_extensions import override

from andrea_exp.component import OptionConfig
from andrea_exp.record.manifest import LogIdentity

_LOG = logging.getLogger(__name__)

Cell = str | float | int | None
"""One entry of a table."""


class Mode(Enum):
    """How far a run is shown."""

    offline = "in files of the run directory"
    online = "on the service, while it trains"
    disabled = "not at all"


@final
@dataclass(kw_only=True, frozen=True)
class Labels:
    """Under what a run is found."""

    name: str
    """The run's own name."""
    group: str
    """What it is compared with: the name of its sweep, say."""
    job_type: str
    """What it does."""
    tags: list[str]


class Logger(ABC):
    """An open view of one run."""

    @abstractmethod
    def log(self, row: Mapping[str, float | int | None]) -> None:
        """Show one row of `metrics.jsonl`; it has `step`."""

    @abstractmethod
    def table(self, name: str, *, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """Show a table."""

    @abstractmethod
    def image(self, name: str, source: Path | bytes) -> None:
        """Show a picture: a PNG file, or the content of one."""

    @abstractmethod
    def finish(self, summary: Mapping[str, float | int | None], *, failed: bool) -> None:
        """Close the view with the final numbers; nothing may be shown after it."""

    @abstractmethod
    def identity(self) -> LogIdentity:
        """How the run is found again; known from the start, so it asks no service."""


@dataclass(kw_only=True, frozen=True)
class LoggerConfig(OptionConfig, ABC):
    """Configuration of one logger."""

    mode: Mode

    @abstractmethod
    def reasons(self) -> list[str]:
        """What is missing on this machine, and the remedy; empty if it can be opened.

        A request is refused with them. What a service does wrong later stops nothing.
        """

    def open(
        self,
        *,
        directory: Path,
        labels: Labels,
        config: Mapping[str, object],
        resume_id: str | None,
    ) -> Logger:
        """A view of one run. It never raises because of the service, here or later.

        What the service does wrong becomes one warning in the log, and then it is left alone.

        Args:
            directory: the run directory; the view's own files go below it.
            labels: under what the run is found.
            config: the resolved configuration.
            resume_id: identity of an earlier part of the same run, or None.
        """
        if self.mode is Mode.disabled:
            return Disabled(mode=self.mode.name)
        try:
            logger = self.connect(
                directory=directory, labels=labels, config=config, resume_id=resume_id
            )
            return Guarded(logger, name=self.name)
        except Exception as error:  # noqa: BLE001 -- whatever a service raises, training goes on
            _warn(f"logger={self.name} cannot be opened {self.mode.name}", error)
            return Disabled(mode=f"{self.mode.name} (unreachable)")

    @abstractmethod
    def connect(
        self,
        *,
        directory: Path,
        labels: Labels,
        config: Mapping[str, object],
        resume_id: str | None,
    ) -> Logger:
        """The same as `open`, for a mode that shows something; may raise anything."""


@final
class Disabled(Logger):
    """Shows nothing."""

    def __init__(self, *, mode: str) -> None:
        self._mode = mode

    @override
    def log(self, row: Mapping[str, float | int | None]) -> None:
        return

    @override
    def table(self, name: str, *, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        return

    @override
    def image(self, name: str, source: Path | bytes) -> None:
        return

    @override
    def finish(self, summary: Mapping[str, float | int | None], *, failed: bool) -> None:
        return

    @override
    def identity(self) -> LogIdentity:
        return LogIdentity(id=None, mode=self._mode, directory=None)


@final
class Guarded(Logger):
    """Another logger until its first error, of which it warns; from then on it shows nothing."""

    def __init__(self, inner: Logger, *, name: str) -> None:
        self._inner = inner
        self._name = name
        self._lost: LogIdentity | None = None

    @override
    def log(self, row: Mapping[str, float | int | None]) -> None:
        try:
            self._inner.log(row)
        except Exception as error:  # noqa: BLE001 -- whatever a service raises, training goes on
            self._leave(error)

    @override
    def table(self, name: str, *, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        try:
            self._inner.table(name, columns=columns, rows=rows)
        except Exception as error:  # noqa: BLE001 -- whatever a service raises, training goes on
            self._leave(error)

    @override
    def image(self, name: str, source: Path | bytes) -> None:
        try:
            self._inner.image(name, source)
        except Exception as error:  # noqa: BLE001 -- whatever a service raises, training goes on
            self._leave(error)

    @override
    def finish(self, summary: Mapping[str, float | int | None], *, failed: bool) -> None:
        try:
            self._inner.finish(summary, failed=failed)
        except Exception as error:  # noqa: BLE001 -- whatever a service raises, training goes on
            self._leave(error)

    @override
    def identity(self) -> LogIdentity:
        return self._lost or self._inner.identity()

    def _leave(self, error: Exception) -> None:
        _warn(f"logger={self._name} failed", error)
        known = self._inner.identity()
        self._lost = replace(known, mode=f"{known.mode} (lost)")
        self._inner = Disabled(mode=self._lost.mode)


def _warn(what: str, error: Exception) -> None:
    """One line, as the record of the run itself is elsewhere and complete."""
    reason = " ".join(str(error).split()) or "no reason given"
    _LOG.warning(
        "%s: %s: %s; the run goes on and is recorded in its directory",
        what,
        type(error).__name__,
        reason,
    )
