"""The resumable state of a training: two files, of which one is always whole."""

import logging
import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor

from andrea_exp.component import Refusal

LAST, PREVIOUS = "last.ckpt", "previous.ckpt"
_LOG = logging.getLogger(__name__)


@final
@dataclass(kw_only=True, frozen=True)
class Checkpoint:
    """A training between two optimizer steps; tensors and plain values only.

    The schedule has no state: it is a function of the step.
    """

    step: int
    """Optimizer steps done."""
    batch: int
    """Batches consumed, which is where the stream goes on."""
    model: dict[str, Tensor]
    """State dict of the plain model, compiled or not; a tied matrix has one name."""
    optimizer: dict[str, Any]
    """State dict of torch's optimizer."""
    cpu_random: Tensor
    """State of torch's generator on the CPU."""
    cuda_random: Tensor | None
    """The same on the GPU that trained."""
    meter: dict[str, Any]
    """Sums since the last row."""
    elapsed_s: float
    """Training time so far."""
    train_loss_nats: float | None
    """Of the last row."""
    stamp: dict[str, str | int]
    """What must be equal for a resumed run to equal an uninterrupted one."""


def write(checkpoint: Checkpoint, *, folder: Path) -> None:
    """Put a checkpoint in the place of the last one, which stays as the previous one.

    Raises:
        OSError: it could not be written; the checkpoints that were there stay as they are.
    """
    draft = folder / f"{LAST}.new"
    try:
        with draft.open("wb") as file:
            torch.save(vars(checkpoint), file)
            file.flush()
            os.fsync(file.fileno())
    except (OSError, RuntimeError) as error:  # torch's writer reports a full disk as RuntimeError
        draft.unlink(missing_ok=True)
        raise OSError(
            f"the checkpoint of step {checkpoint.step} could not be written to {folder}: {error}; "
            "make room, then resume"
        ) from error
    last = folder / LAST
    if last.exists():
        last.replace(folder / PREVIOUS)
    draft.replace(last)
    _sync(folder)


def read(folder: Path, *, stamp: Mapping[str, str | int]) -> Checkpoint | None:
    """The newest checkpoint that can be read, or None, with a warning, if there is none.

    Raises:
        Refusal: it was made under another stamp.
    """
    for path in (folder / LAST, folder / PREVIOUS):
        if path.exists() and (checkpoint := _load(path)) is not None:
            _compare(checkpoint.stamp, stamp, path=path)
            return checkpoint
    _LOG.warning("no readable checkpoint in %s; the training starts from the beginning", folder)
    return None


def remove(folder: Path) -> None:
    """Forget an earlier training in this folder."""
    for name in (LAST, PREVIOUS):
        (folder / name).unlink(missing_ok=True)


def _load(path: Path) -> Checkpoint | None:
    try:
        return Checkpoint(**torch.load(path, map_location="cpu", weights_only=True))
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError, TypeError) as error:
        _LOG.warning("%s cannot be read and is skipped: %s", path, error)
        return None


def _compare(
    found: Mapping[str, str | int], expected: Mapping[str, str | int], *, path: Path
) -> None:
    for key in sorted(found.keys() | expected.keys()):
        before, now = found.get(key), expected.get(key)
        if before != now:
            raise Refusal(
                f"{path} was written with {key} {before}, and now {key} is {now}: going on would "
                f"not give what an uninterrupted run gives; restore {key}, or start a new run"
            )


def _sync(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
