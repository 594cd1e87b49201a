"""Weights & Biases. Its files, `wandb/` in the run directory, are written by W&B in its own way."""

import io
import logging
import os
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from typing_extensions import override

from andrea_exp.component import above
from andrea_exp.logger.base import Cell, Labels, Logger, LoggerConfig, Mode
from andrea_exp.record.manifest import LogIdentity
from andrea_exp.record.redact import redact, redacted

if TYPE_CHECKING:  # importing it takes a third of a second, and the door loads this module always
    import wandb

_FLUSH_INTERVAL_S = 0.5


@final
@dataclass(kw_only=True, frozen=True)
class WandbConfig(LoggerConfig):
    """One W&B run per run directory, continued under the same id when the run is resumed.

    Recorded are the configuration, the rows, tables and pictures: no code, no git remote, no
    console output, no list of packages and nothing about the machine, which `manifest.json` has.
    """

    project: str
    """Project that the run belongs to."""
    entity: str | None
    """Account or team; null: the account's own default."""
    init_timeout_s: float = field(metadata=above(0))
    """Longest wait for the service at the start."""
    finish_timeout_s: float = field(metadata=above(0))
    """Longest wait at the end for what is not uploaded yet; it stays in the run directory."""

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
    ) -> "WandbLogger":
        # Without this, W&B reports its own errors to its makers; read when it is first imported.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        import wandb  # noqa: PLC0415 -- see above

        logging.getLogger("wandb").addFilter(_tilde)
        settings = wandb.Settings(**self._settings(known=set(wandb.Settings.model_fields)))
        if self.mode is Mode.online:
            _require_account(settings)
        run = wandb.init(
            project=self.project,
            entity=self.entity,
            name=labels.name,
            group=labels.group,
            job_type=labels.job_type,
            tags=labels.tags,
            config=redacted(config),
            dir=str(directory),
            id=resume_id or secrets.token_hex(5),  # or an id in the environment would be taken
            resume="allow" if resume_id else None,
            settings=settings,
        )
        return WandbLogger(run, mode=self.mode.name, directory=directory)

    def _settings(self, *, known: set[str]) -> dict[str, Any]:
        """What this program asks of W&B."""
        public = {
            "mode": self.mode.name,
            "init_timeout": self.init_timeout_s,
            "finish_timeout": self.finish_timeout_s,
            "finish_timeout_raises": True,
            "login_timeout": self.init_timeout_s,
            "silent": True,
            "console": "off",
            "disable_git": True,
            "disable_code": True,
            "save_code": False,
            "symlink": False,
            "host": "",
            "program": "andrea_exp",  # and not the path of what was started
        }
        # Private, so another version may not know them. By default a kill loses 15 s of rows.
        private = {
            "x_transaction_log_flush_interval": _FLUSH_INTERVAL_S,
            "x_disable_meta": True,
            "x_disable_machine_info": True,
            "x_disable_stats": True,
            "x_save_requirements": False,
        }
        return public | {name: value for name, value in private.items() if name in known}


@final
class WandbLogger(Logger):
    """An open W&B run."""

    def __init__(self, run: "wandb.Run", *, mode: str, directory: Path) -> None:
        self._run = run
        files = Path(run.settings.sync_dir).resolve().relative_to(directory.resolve())
        self._files = directory / files
        self._identity = LogIdentity(id=run.id, mode=mode, directory=str(files))
        self._step: int | None = None

    @override
    def log(self, row: Mapping[str, float | int | None]) -> None:
        self._step = int(row["step"] or 0)
        shown = {name: value for name, value in row.items() if name != "step" and value is not None}
        self._run.log(shown, step=self._step)

    @override
    def table(self, name: str, *, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        import wandb  # noqa: PLC0415 -- see above

        table = wandb.Table(
            columns=list(columns), data=[list(row) for row in rows], allow_mixed_types=True
        )
        # A table that is not bound becomes an artifact too: W&B then asks the service before it
        # goes on, and writes down where on this machine its second copy lies.
        table.bind_to_run(self._run, name, self._step or 0)
        self._run.log({name: table}, step=self._step)

    @override
    def image(self, name: str, source: Path | bytes) -> None:
        import wandb  # noqa: PLC0415 -- see above
        from PIL import Image  # noqa: PLC0415 -- as slow, and only W&B's pictures need it

        with Image.open(io.BytesIO(source) if isinstance(source, bytes) else source) as picture:
            self._run.log({name: wandb.Image(picture)}, step=self._step)

    @override
    def finish(self, summary: Mapping[str, float | int | None], *, failed: bool) -> None:
        if self._step is not None:
            # W&B holds the last row back, and its columns would replace final numbers of one name.
            self._run.log({}, step=self._step, commit=True)
        self._run.summary.update(dict(summary))
        try:
            self._run.finish(exit_code=1 if failed else 0)
        except TimeoutError as error:
            raise TimeoutError(
                "the service has not taken everything after "
                f"finish_timeout_s={self._run.settings.finish_timeout:g}; "
                f"upload it later with: wandb sync --include-online {shlex.quote(str(self._files))}"
            ) from error

    @override
    def identity(self) -> LogIdentity:
        return self._identity


def _require_account(settings: "wandb.Settings") -> None:
    """Stop before W&B asks for a key at the terminal, where a run would wait for an answer."""
    import wandb  # noqa: PLC0415 -- see above

    wandb.setup(settings=settings)
    # The key is checked when the run is opened, within `init_timeout_s`. W&B's check before that
    # has a patience of its own, and a program that ended soon after it hung for ten minutes.
    if not wandb.login(prompt=False, verify=False):
        raise ConnectionError(
            "no W&B account is set up here; run `wandb login` first, or keep logger.mode=offline"
        )


def _tilde(record: logging.LogRecord) -> bool:
    """Write the home directory as `~` in what W&B notes in `debug.log`."""
    record.msg, record.args = redact(record.getMessage()), None
    return True
