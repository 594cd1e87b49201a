"""Lightning's loop with everything off that this package does itself."""

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import final

import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.utilities.warnings import PossibleUserWarning
from lightning.pytorch import Trainer
from torch.utils.data import DataLoader
from typing_extensions import override

from andrea_exp.data.base import Batch
from andrea_exp.data.stream import BatchStream
from andrea_exp.train.config import Device, Precision
from andrea_exp.train.module import TrainingModule
from andrea_exp.train.signals import ignore_in_worker

_LOGGERS = ("lightning.pytorch", "lightning.fabric")


@final
class _Trainer(Trainer):
    """Lightning's own answer to SIGTERM is to leave at once, without a checkpoint, with status 0.

    Its handler also calls the one that was there before, which is ours (`signals.py`).
    """

    @property
    @override
    def received_sigterm(self) -> bool:
        return False


def loader(stream: BatchStream, *, start: int, workers: int) -> DataLoader[Batch]:
    """The batches from number `start` on, in order.

    Its generator is its own: torch would seed the workers, even if there are none, from the
    global one, whose state decides the dropout masks.
    """
    return DataLoader(
        stream,
        batch_size=None,
        sampler=range(start, len(stream)),
        num_workers=workers,
        worker_init_fn=ignore_in_worker,
        generator=torch.Generator(),
    )


def run(
    module: TrainingModule, batches: DataLoader[Batch], *, device: Device, precision: Precision
) -> None:
    """Train until the batches end or the module asks to stop.

    Raises:
        SystemExit: the loop was left by KeyboardInterrupt, which Lightning turns into this.
    """
    with _quiet():
        trainer = _Trainer(
            accelerator=device.value,
            devices=1 if device is Device.cpu else [torch.cuda.current_device()],
            precision="32-true" if precision is Precision.fp32 else "bf16-mixed",
            max_epochs=1,
            barebones=True,
            # Without one, Lightning looks for Slurm and takes its signals.
            plugins=[LightningEnvironment()],
        )
        trainer.fit(module, batches)


@contextmanager
def _quiet() -> Generator[None]:
    """Silence advice that does not apply here: on loader workers, cloud services, bare training."""
    levels = {name: logging.getLogger(name).level for name in _LOGGERS}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PossibleUserWarning)
            warnings.filterwarnings(  # Lightning's own use of torch
                "ignore", message=".*LeafSpec", category=FutureWarning
            )
            for name in _LOGGERS:
                logging.getLogger(name).setLevel(logging.ERROR)
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
