"""The resumable state of a training: two files, of which one is always whole.

A third name, `replaced.ckpt`, exists only between two renames, or after a kill between them.

A file is what `torch.save` writes, followed by the SHA-256 of that, which torch passes over. It is
needed: torch never compares the CRCs that it writes, and takes flipped bits for weights. Comparing
them here would not do either, for a flipped bit in the directory of the archive can make torch
leave the memory of a tensor as it is.
"""

import hashlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor

from andrea_exp.atomic import sync_directory
from andrea_exp.component import Refusal
from andrea_exp.disk import writing

LAST, REPLACED, PREVIOUS = "last.ckpt", "replaced.ckpt", "previous.ckpt"
"""From the newest to the oldest."""

_HASH = "sha256"
_CHUNK = 2**20
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
    cpu_random: list[Tensor]
    """State of torch's generator on the CPU in each process of the training."""
    cuda_random: list[Tensor] | None
    """The same on the GPUs that trained."""
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

    Whenever the process is killed, the newest whole checkpoint is there under one of the names.

    Raises:
        DiskFull: there was no room; the checkpoints that were there stay as they are.
        OSError: it could not be written for another reason; so do they.
    """
    last, replaced = folder / LAST, folder / REPLACED
    draft = folder / f"{LAST}.new"
    try:
        with writing(last), draft.open("w+b") as file:
            torch.save(vars(checkpoint), file)
            file.seek(0)
            file.write(hashlib.file_digest(file, _HASH).digest())
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if last.exists():
        last.replace(replaced)
    draft.replace(last)
    if replaced.exists():
        replaced.replace(folder / PREVIOUS)
    sync_directory(folder)


def read(folder: Path, *, stamp: Mapping[str, str | int]) -> Checkpoint | None:
    """The newest whole checkpoint, or None if there is none.

    What is damaged is skipped with a warning; so is a start from the beginning because of that.

    Raises:
        Refusal: it was made under another stamp.
    """
    present = [path for path in _files(folder) if path.exists()]
    for path in present:
        checkpoint = _load(path)
        if checkpoint is not None:
            _compare(checkpoint.stamp, stamp, path=path)
            return checkpoint
    if present:
        _LOG.warning("no readable checkpoint in %s; the training starts from the beginning", folder)
    return None


def remove(folder: Path) -> None:
    """Forget an earlier training in this folder."""
    for path in _files(folder):
        path.unlink(missing_ok=True)


def _files(folder: Path) -> list[Path]:
    return [folder / name for name in (LAST, REPLACED, PREVIOUS)]


def _load(path: Path) -> Checkpoint | None:
    try:
        _verify(path)
        return Checkpoint(**torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # noqa: BLE001 - a foreign file makes its readers raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        _LOG.warning("%s cannot be read and is skipped: %s", path, reason)
        return None


def _verify(path: Path) -> None:
    digest = hashlib.new(_HASH)
    left = path.stat().st_size - digest.digest_size
    with path.open("rb") as file:
        while left > 0 and (chunk := file.read(min(left, _CHUNK))):
            digest.update(chunk)
            left -= len(chunk)
        if file.read() != digest.digest():
            raise ValueError("its checksum is wrong: it is damaged, or is no checkpoint")


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
