"""Training from a drawn model to its last step, or by a few steps, in each of its processes."""

from collections.abc import Mapping
from pathlib import Path

import torch

from andrea_exp.component import Refusal
from andrea_exp.data.stream import BatchStream
from andrea_exp.evaluate.probe import Probe
from andrea_exp.model.decoder import Decoder
from andrea_exp.optimizer.base import OptimizerConfig
from andrea_exp.seeding import derive
from andrea_exp.train.config import RuntimeConfig, TrainerConfig
from andrea_exp.train.outcome import Ended, Outcome
from andrea_exp.train.progress import ProgressLine
from andrea_exp.train.ranks import Ranks
from andrea_exp.train.runtime import reasons, settings
from andrea_exp.train.signals import StopRequest
from andrea_exp.train.training import Sink, Training

__all__ = ["Ended", "Outcome", "fit"]


def fit(  # noqa: PLR0913 - what a training needs has many owners
    model: Decoder,
    stream: BatchStream,
    *,
    optimizer: OptimizerConfig,
    trainer: TrainerConfig,
    runtime: RuntimeConfig,
    ranks: Ranks,
    seed: int,
    checkpoints: Path,
    sink: Sink,
    probe: Probe,
    stamp: Mapping[str, str | int],
    resume: bool,
    show_progress: bool,
) -> Outcome:
    """Train a model in place, and leave it in evaluation mode.

    On the CPU the result is a function of the initial model, the stream, the configurations, the
    seed and the numbers of threads and processes, however often it was stopped and resumed. With
    another number of processes it is the same up to rounding, and other dropout.

    Args:
        model: drawn; where a checkpoint is found, its parameters are replaced.
        stream: trainer.max_steps * trainer.accumulation batches, of which each process takes
            its rows.
        optimizer: and its schedule.
        trainer: how long and how.
        runtime: on what.
        ranks: the processes that train together; only the first writes checkpoints.
        seed: of dropout.
        checkpoints: folder of the two checkpoints; made if it is not there.
        sink: gets a row every trainer.log_every_steps, at the last step, and at one that is not
            finite. A resume after a kill repeats the rows since the last checkpoint.
        probe: adds its columns to the rows of the steps for which it is due.
        stamp: what a resumed run must have in common with the one that wrote the checkpoint.
        resume: whether to go on from a checkpoint; otherwise those that are there are removed.
        show_progress: whether a terminal shows a progress line.

    Raises:
        Refusal: the machine cannot run this, or the checkpoint has another stamp.
        ValueError: the stream has another length, the warm-up does not fit into the training, or
            there are more or fewer processes than `runtime.devices`.
        NoAnswerError: another process has left.
        DiskFull: there is no room for a checkpoint.
        OSError: a checkpoint could not be written for another reason.
        KeyboardInterrupt: at a second SIGINT.
    """
    if found := reasons(runtime):
        raise Refusal("\n".join(found))
    optimizer.schedule.check(max_steps=trainer.max_steps)
    _check_length(stream, trainer)
    if ranks.count != runtime.devices:
        raise ValueError(f"{ranks.count} processes for runtime.devices={runtime.devices}")
    device = torch.device(runtime.device.value)
    model.to(device).train()
    if ranks.is_first:
        checkpoints.mkdir(parents=True, exist_ok=True)
    with (
        settings(runtime),
        StopRequest() as stop,
        ProgressLine(total=trainer.max_steps, shown=show_progress) as progress,
    ):
        torch.manual_seed(derive(seed, ranks.purpose("train")))
        training = Training(
            model,
            optimizer=optimizer,
            trainer=trainer,
            ranks=ranks,
            device=runtime.device,
            folder=checkpoints,
            stamp=stamp,
            sink=sink,
            probe=probe,
            stop=stop,
            progress=progress,
        )
        training.begin(resume=resume)
        training.run(stream.shard(ranks.rank, count=ranks.count), workers=runtime.workers)
    model.to(device).eval()  # Lightning leaves it on the CPU
    return training.outcome()


def _check_length(stream: BatchStream, trainer: TrainerConfig) -> None:
    needed = trainer.max_steps * trainer.accumulation
    if len(stream) != needed:
        raise ValueError(
            f"the stream has {len(stream)} batches; {trainer.max_steps} steps of "
            f"{trainer.accumulation} batches need {needed}"
        )
