"""The state of one training, and what happens between two of its steps."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import final

import torch

from andrea_exp.data.stream import BatchStream
from andrea_exp.evaluate.probe import Probe
from andrea_exp.model.decoder import Decoder
from andrea_exp.optimizer.base import OptimizerConfig
from andrea_exp.optimizer.groups import parameter_groups
from andrea_exp.train import checkpoint, loop
from andrea_exp.train.checkpoint import Checkpoint
from andrea_exp.train.config import Device, TrainerConfig
from andrea_exp.train.meter import Meter, Step
from andrea_exp.train.module import TrainingModule
from andrea_exp.train.outcome import Ended, GroupSummary, Outcome
from andrea_exp.train.progress import ProgressLine
from andrea_exp.train.ranks import Ranks
from andrea_exp.train.runtime import holds_to_determinism, peak_memory_mb
from andrea_exp.train.signals import StopRequest
from andrea_exp.train.stopwatch import Stopwatch

Sink = Callable[[Mapping[str, float]], None]
"""What takes the rows of a training."""

_ANSWERS = (None, *Ended)


@final
class Training:
    """A model on its way from step to step: rows, checkpoints, reasons to stop.

    Where several processes train together, the first decides when to stop, and it alone writes and
    probes.
    """

    def __init__(  # noqa: PLR0913 - what a training needs has many owners
        self,
        model: Decoder,
        *,
        optimizer: OptimizerConfig,
        trainer: TrainerConfig,
        ranks: Ranks,
        device: Device,
        folder: Path,
        stamp: Mapping[str, str | int],
        sink: Sink,
        probe: Probe,
        stop: StopRequest,
        progress: ProgressLine,
    ) -> None:
        self._model = model
        self._config = optimizer
        self._groups = parameter_groups(model)
        self._optimizer = optimizer.build(self._groups)
        self._trainer = trainer
        self._ranks = ranks
        self._device = device
        self._folder = folder
        self._stamp = dict(stamp)
        self._sink = sink
        self._probe = probe
        self._stop = stop
        self._progress = progress
        self._meter = Meter.zero()
        self._watch = Stopwatch()
        self._done = self._resumed_from = 0
        self._ended: Ended | None = None
        self._nonfinite_step: int | None = None
        self._train_loss: float | None = None

    def begin(self, *, resume: bool) -> None:
        """Take up the newest checkpoint, or start from the beginning."""
        saved = None
        if resume:
            saved = checkpoint.read(self._folder, stamp=self._stamp)
        elif self._ranks.is_first:
            checkpoint.remove(self._folder)
        if saved is not None:
            self._take_up(saved)
        first = self._ranks.of_first(self._done)
        if self._done != first:
            raise RuntimeError(
                f"rank {self._ranks.rank} would go on from step {self._done}, the first process "
                f"from step {first}"
            )

    def _take_up(self, saved: Checkpoint) -> None:
        self._model.load_state_dict(saved.model)
        self._optimizer.load_state_dict(saved.optimizer)
        torch.set_rng_state(saved.cpu_random[self._ranks.rank])
        if saved.cuda_random is not None:
            torch.cuda.set_rng_state(saved.cuda_random[self._ranks.rank])
        self._meter = Meter(**saved.meter)
        self._watch.resume(saved.elapsed_s)
        self._train_loss = saved.train_loss_nats
        self._done = self._resumed_from = saved.step

    def run(self, stream: BatchStream, *, workers: int) -> None:
        """Do the steps that are left, or those until something ends the training."""
        if self._done == self._trainer.max_steps:
            self._ended = Ended.completed
            return
        module = TrainingModule(
            self._model,
            optimizer=self._optimizer,
            clip_norm=self._trainer.clip_norm,
            accumulation=self._trainer.accumulation,
            ranks=self._ranks,
            next_lr=self._next_lr,
            after_step=self._after_step,
        )
        start = self._done * self._trainer.accumulation
        batches = loop.loader(stream, start=start, workers=workers)
        self._watch.start()
        try:
            loop.run(module, batches, device=self._device, precision=self._trainer.precision)
        except SystemExit:
            if self._stop.impatient:
                raise KeyboardInterrupt from None
            raise

    def outcome(self) -> Outcome:
        """What came of it."""
        if self._ended is None:
            raise RuntimeError(f"the loop was left after step {self._done} without a reason")
        # A signal after the last step is not lost: whoever resumes has only the measures left.
        late = self._stop.ended if self._ended is Ended.completed else None
        return Outcome(
            ended=late or self._ended,
            steps=self._done,
            resumed_from=self._resumed_from,
            nonfinite_step=self._nonfinite_step,
            train_loss_nats=self._train_loss,
            first_step_s=self._watch.first_step_s,
            step_ms_median=self._watch.step_ms_median,
            tokens_per_s=self._watch.tokens_per_s,
            peak_memory_mb=peak_memory_mb(self._device),
            deterministic=holds_to_determinism(self._device),
            groups=self._summary(),
        )

    def _next_lr(self) -> float:
        return self._config.rate(self._done, max_steps=self._trainer.max_steps)

    def _after_step(self, step: Step) -> bool:
        """Log, save and look for a reason to stop; True if there is one."""
        self._watch.lap(tokens=step.tokens)
        self._meter.add(step)
        self._ended = self._end_of(step)
        number = self._done + 1
        last = number == self._trainer.max_steps
        if not step.finite or last or number % self._trainer.log_every_steps == 0:
            self._write_row(step, number=number)
        if step.finite:
            self._done = number
            due = number % self._trainer.checkpoint_every_steps == 0
            if due or self._ended is not None:
                self._save()
        else:
            self._nonfinite_step = number
        self._progress.show(
            step=self._done, loss_nats=step.loss_nats, tokens_per_s=self._watch.tokens_per_s
        )
        self._watch.start()
        return self._ended is not None

    def _end_of(self, step: Step) -> Ended | None:
        if not step.finite:
            return Ended.nan
        asked = _ANSWERS[self._ranks.of_first(_ANSWERS.index(self._stop.ended))]
        if asked is not None:
            return asked
        return Ended.completed if self._done + 1 == self._trainer.max_steps else None

    def _write_row(self, step: Step, *, number: int) -> None:
        row = self._meter.row(step=number, lr=step.lr, elapsed_s=self._watch.elapsed_s)
        self._train_loss = row["train_loss_nats"]
        if step.finite and self._ranks.is_first and self._probe.due(number):
            with self._watch.stopped():
                row |= self._probe()
        self._sink(row)

    def _save(self) -> None:
        cpu_random = self._ranks.gather(torch.get_rng_state())
        cuda = self._device is Device.cuda
        cuda_random = self._ranks.gather(torch.cuda.get_rng_state()) if cuda else None
        if not self._ranks.is_first:
            return
        checkpoint.write(
            Checkpoint(
                step=self._done,
                batch=self._done * self._trainer.accumulation,
                model=self._model.state_dict(),
                optimizer=self._optimizer.state_dict(),
                cpu_random=cpu_random,
                cuda_random=cuda_random,
                meter=self._meter.state(),
                elapsed_s=self._watch.elapsed_s,
                train_loss_nats=self._train_loss,
                stamp=self._stamp,
            ),
            folder=self._folder,
        )

    def _summary(self) -> list[GroupSummary]:
        return [
            GroupSummary(
                name=group.kind.name,
                weight_decay=self._config.decay(group.kind),
                size=sum(parameter.numel() for parameter in group.parameters.values()),
                parameters=list(group.parameters),
            )
            for group in self._groups
        ]
