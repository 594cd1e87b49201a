"""The GPUs of this machine, each claimed by one training at a time."""

import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import torch

from andrea_exp.component import Refusal
from andrea_exp.data.cache import VARIABLE, cache_folder
from andrea_exp.lock import Busy, exclusive
from andrea_exp.train.config import Device, RuntimeConfig

_POLL_S: Final = 0.01


@contextmanager
def claimed(runtime: RuntimeConfig) -> Generator[list[int]]:
    """A GPU of its own for each process of a training; this process uses the first of them.

    Yields:
        their indices among those that CUDA_VISIBLE_DEVICES leaves; on the CPU none.

    Raises:
        Refusal: there are not so many free ones; the message says who uses the others.
    """
    if runtime.device is Device.cpu:
        yield []
        return
    with (
        claim(_identities(), count=runtime.devices, folder=cache_folder() / "gpus") as gpus,
        torch.cuda.device(gpus[0]),
    ):
        yield gpus


def use(gpu: int) -> None:
    """Let this process compute on a GPU that another one has claimed for it."""
    torch.cuda.set_device(gpu)


@contextmanager
def claim(identities: Sequence[str], *, count: int, folder: Path) -> Generator[list[int]]:
    """The indices of `count` GPUs that nobody else claims before the block ends.

    Args:
        identities: of every GPU that this process may use. A GPU is known by what its driver calls
            it: schedulers number those of each of their jobs from 0.
        count: how many.
        folder: where claims are made, as locks that the system frees when a process ends.

    Raises:
        Refusal: too few of them are free.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{folder} cannot be made: {error.strerror}"
        raise Refusal(f"{reason}; {VARIABLE} names another cache folder") from error
    with ExitStack() as stack:
        mine: list[int] = []
        taken: list[str] = []
        with _turn(folder):
            for index, identity in enumerate(identities):
                if len(mine) == count:
                    break
                try:
                    stack.enter_context(exclusive(folder / f"{identity}.lock"))
                except Busy as busy:
                    taken.append(f"GPU {index} is in use by {busy.holder}")
                else:
                    mine.append(index)
        if len(mine) < count:
            raise Refusal(
                f"{count} of {len(identities)} GPUs are needed, {len(mine)} are free: "
                f"{'; '.join(taken)}; wait until a run ends, or end it"
            )
        yield mine


@contextmanager
def _turn(folder: Path) -> Generator[None]:
    """One process at a time, so that no two take half each of what either needs."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(exclusive(folder / "turn.lock"))
                break
            except Busy:
                time.sleep(_POLL_S)
        yield


def _identities() -> list[str]:
    count = torch.cuda.device_count()
    return [str(torch.cuda.get_device_properties(index).uuid) for index in range(count)]
