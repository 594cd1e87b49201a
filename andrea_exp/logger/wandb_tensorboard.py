"""Weights & Biases and TensorBoard beside each other, each as if it were alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from typing_extensions import override

from andrea_exp.logger.base import Cell, Labels, Logger, LoggerConfig, Mode
from andrea_exp.logger.tensorboard import TensorboardConfig
from andrea_exp.logger.wandb import WandbConfig
from andrea_exp.record.manifest import LogIdentity


@final
@dataclass(kw_only=True, frozen=True)
class WandbTensorboardConfig(LoggerConfig):
    """Both loggers with their own values. `mode` is that of W&B; disabled, it silences both."""

    wandb: WandbConfig
    tensorboard: TensorboardConfig

    def __post_init__(self) -> None:
        """Check that the mode has one value."""
        super().__post_init__()
        if self.wandb.mode is not self.mode:
            raise ValueError(
                f"wandb.mode={self.wandb.mode.name} differs from mode={self.mode.name}; set the "
                "latter, which W&B follows"
            )

    @override
    def reasons(self) -> list[str]:
        if self.mode is Mode.disabled:
            return []
        return [*self.wandb.reasons(), *self.tensorboard.reasons()]

    @override
    def connect(
        self,
        *,
        directory: Path,
        labels: Labels,
        config: Mapping[str, object],
        resume_id: str | None,
    ) -> "WandbTensorboardLogger":
        wandb, tensorboard = (
            part.open(directory=directory, labels=labels, config=config, resume_id=resume_id)
            for part in (self.wandb, self.tensorboard)
        )
        return WandbTensorboardLogger(wandb=wandb, tensorboard=tensorboard)


@final
class WandbTensorboardLogger(Logger):
    """Two views of one run. Each must be guarded: what one raises would keep a call from the other.

    The identity is that of W&B, which has an identifier to be kept across resumes.
    """

    def __init__(self, *, wandb: Logger, tensorboard: Logger) -> None:
        self._wandb = wandb
        self._both = (tensorboard, wandb)  # the end of W&B may take its time

    @override
    def log(self, row: Mapping[str, float | int | None]) -> None:
        for logger in self._both:
            logger.log(row)

    @override
    def table(self, name: str, *, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        for logger in self._both:
            logger.table(name, columns=columns, rows=rows)

    @override
    def image(self, name: str, source: Path | bytes) -> None:
        for logger in self._both:
            logger.image(name, source)

    @override
    def finish(self, summary: Mapping[str, float | int | None], *, failed: bool) -> None:
        for logger in self._both:
            logger.finish(summary, failed=failed)

    @override
    def identity(self) -> LogIdentity:
        return self._wandb.identity()
