"""TensorBoard. Its files, `tensorboard/` in the run directory, need no account and no network."""

import importlib
import importlib.util
import json
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from typing_extensions import override

from andrea_exp.logger.base import Cell, Labels, Logger, LoggerConfig, Mode
from andrea_exp.record.manifest import LogIdentity
from andrea_exp.record.redact import redacted

FOLDER = "tensorboard"
"""Its place in the run directory."""

_NEEDED = "TensorBoard is not installed; pip install 'andrea_exp[tensorboard]' does it"
_PNG = b"\x89PNG\r\n\x1a\n"


@final
@dataclass(kw_only=True, frozen=True)
class TensorboardConfig(LoggerConfig):
    """One file of events for each part of a run, under the steps of `metrics.jsonl`.

    Recorded are the configuration, the rows, tables as text, pictures, and at the end the final
    numbers as `final/...`, beside the configuration in TensorBoard's table of hyperparameters.
    """

    def __post_init__(self) -> None:
        """Check the mode: there is no service to be online on."""
        super().__post_init__()
        if self.mode is Mode.online:
            raise ValueError(
                "mode=online: TensorBoard is read from files; keep mode=offline and open them with "
                "`tensorboard --logdir`, also while the run trains"
            )

    @override
    def reasons(self) -> list[str]:
        if self.mode is Mode.disabled or importlib.util.find_spec("tensorboard"):
            return []
        return [f"{_NEEDED}, logger=wandb and logger.mode=disabled do without"]

    @override
    def connect(
        self,
        *,
        directory: Path,
        labels: Labels,
        config: Mapping[str, object],
        resume_id: str | None,
    ) -> "TensorboardLogger":
        try:
            events = Events(directory / FOLDER)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"{_NEEDED} ({error})") from error
        return TensorboardLogger(events, mode=self.mode.name, labels=labels, config=config)


@final
class Events:
    """A file of TensorBoard's events that is complete, and closed, after each addition.

    The writers that torch and TensorBoard offer put the name of the machine into that of the file,
    and keep what they are given in memory for a while, where it is lost with the process.
    """

    def __init__(self, folder: Path) -> None:
        # Imported here, as it takes a second; by name, as the modules hold no types.
        self.summary: Any = importlib.import_module("torch.utils.tensorboard.summary")
        self._event: Any = importlib.import_module("tensorboard.compat.proto.event_pb2").Event
        self._records: Any = importlib.import_module("tensorboard.summary.writer.record_writer")
        folder.mkdir(exist_ok=True)
        # The name must hold `tfevents`, and the parts of a run are read in the order of names.
        self._path = folder / f"events.out.tfevents.{time.time_ns()}"
        self._append(self._event(wall_time=time.time(), file_version="brain.Event:2"))

    def add(self, *summaries: Any, step: int) -> None:
        """Append what `summary` made."""
        now = time.time()
        self._append(*(self._event(wall_time=now, step=step, summary=each) for each in summaries))

    def _append(self, *events: Any) -> None:
        with self._path.open("ab") as file:
            writer = self._records.RecordWriter(file)
            for event in events:
                writer.write(event.SerializeToString())


@final
class TensorboardLogger(Logger):
    """An open file of events."""

    def __init__(
        self, events: Events, *, mode: str, labels: Labels, config: Mapping[str, object]
    ) -> None:
        self._events = events
        self._mode = mode
        self._config = redacted(config)
        self._step = 0
        under = {"group": labels.group, "job_type": labels.job_type, "tags": labels.tags}
        self._text("labels", _code({"name": labels.name, **under}))
        self._text("config", _code(self._config))

    @override
    def log(self, row: Mapping[str, float | int | None]) -> None:
        self._step = int(row["step"] or 0)
        self._scalars({name: value for name, value in row.items() if name != "step"})

    @override
    def table(self, name: str, *, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        self._text(name, _markdown([columns, ["---"] * len(columns), *rows]))

    @override
    def image(self, name: str, source: Path | bytes) -> None:
        content = source if isinstance(source, bytes) else source.read_bytes()
        if not content.startswith(_PNG):
            raise ValueError(f"the picture {name} is not a PNG file")
        width, height = struct.unpack(">II", content[16:24])
        summary = self._events.summary.Summary
        picture = summary.Image(
            width=width, height=height, colorspace=4, encoded_image_string=content
        )
        shown = summary(value=[summary.Value(tag=name, image=picture)])
        self._events.add(shown, step=self._step)

    @override
    def finish(self, summary: Mapping[str, float | int | None], *, failed: bool) -> None:
        final = {f"final/{name}": value for name, value in summary.items() if value is not None}
        self._text("status", "failed" if failed else "finished")
        if not failed:
            parts = self._events.summary.hparams(_flat(self._config), final)
            self._events.add(*parts, step=self._step)
        self._scalars(final)

    @override
    def identity(self) -> LogIdentity:
        return LogIdentity(id=None, mode=self._mode, directory=FOLDER)

    def _scalars(self, values: Mapping[str, float | int | None]) -> None:
        scalar = self._events.summary.scalar
        shown = [scalar(name, value) for name, value in values.items() if value is not None]
        self._events.add(*shown, step=self._step)

    def _text(self, name: str, text: str) -> None:
        self._events.add(self._events.summary.text(name, text), step=self._step)


def _flat(config: Mapping[str, object], prefix: str = "") -> dict[str, str | float]:
    """Values by dotted key, in the kinds that TensorBoard's table has; nulls are left out."""
    found: dict[str, str | float] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[prefix + key] = value
        elif value is not None:
            found[prefix + key] = str(value)
    return found


def _code(content: Mapping[str, object]) -> str:
    """A block of code in Markdown, whose lines are indented."""
    lines = json.dumps(content, indent=2).splitlines()
    return "\n".join(f"    {line}" for line in lines)


def _markdown(rows: Sequence[Sequence[Cell]]) -> str:
    """A table in Markdown; the second row is the line below the head."""
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)


def _cell(cell: Cell) -> str:
    if isinstance(cell, float):
        return f"{cell:.6g}"
    return "" if cell is None else " ".join(str(cell).replace("|", "\\|").split())
