"""The processes of one training, on one machine: what they say to each other.

Rank 0 is the first process, the one that a person or a scheduler started. They meet at a file and
speak over the loopback interface, so no port is opened to a network.
"""

import os
import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import final

import torch
import torch.distributed as dist
from torch import Tensor

from andrea_exp.train.config import Device

_PATIENCE = timedelta(minutes=30)
"""How long one waits for another that lives; of one that has ended, all hear at once."""

_BACKEND = {Device.cpu: "gloo", Device.cuda: "cpu:gloo,cuda:nccl"}


class NoAnswerError(RuntimeError):
    """Another process has left the training, or does not answer."""


@final
class Ranks:
    """The processes of one training, as one of them sees them. All of them make the same calls."""

    def __init__(self, rank: int, *, count: int) -> None:
        self.rank = rank
        self.count = count

    @classmethod
    def alone(cls) -> "Ranks":
        """A training in a single process."""
        return cls(0, count=1)

    @property
    def is_first(self) -> bool:
        """Whether this is the process that decides and writes."""
        return self.rank == 0

    def purpose(self, name: str) -> str:
        """The name of this process's own random stream; the first has that of a single one."""
        return name if self.is_first else f"{name}/{self.rank}"

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors, all of one type, by their sums over all processes.

        They are the same bit for bit in each process, and whenever equal numbers are added.
        """
        if self.count == 1:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        with _spoken():
            dist.all_reduce(flat)
        sums = flat.split([tensor.numel() for tensor in tensors])
        for tensor, total in zip(tensors, sums, strict=True):
            tensor.copy_(total.view_as(tensor))

    def of_first(self, number: int) -> int:
        """The first process's number."""
        if self.count == 1:
            return number
        told = torch.tensor(number)
        with _spoken():
            dist.broadcast(told, src=0)
        return int(told.item())

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """Every process's tensor, by rank, for the first process; the others get nothing."""
        if self.count == 1:
            return [tensor]
        gathered = [torch.empty_like(tensor) for _ in range(self.count if self.is_first else 0)]
        with _spoken():
            dist.gather(tensor, gathered or None, dst=0)
        return gathered


@contextmanager
def joined(meeting: Path, *, rank: int, count: int, device: Device) -> Generator[Ranks]:
    """Wait for the other processes, and be one of them for the length of the block.

    Args:
        meeting: folder of this training alone, on a disk of this machine.
        rank: which of them this process is.
        count: how many they are.
        device: where the tensors are that they add up.

    Raises:
        NoAnswerError: another process has left, or does not answer for half an hour.
    """
    hook = sys.excepthook  # torch puts one in its place that writes the rank before every line
    with _loopback(), _spoken():
        store = dist.FileStore(str(meeting / "store"), count)  # pyright: ignore[reportPrivateImportUsage]
        dist.init_process_group(
            _BACKEND[device],
            store=store,
            rank=rank,
            world_size=count,
            timeout=_PATIENCE,
        )
    try:
        yield Ranks(rank, count=count)
    except BaseException:
        hang_up()  # `destroy` would wait for work that nobody finishes
        raise
    finally:
        sys.excepthook = hook
        dist.destroy_process_group()


def hang_up() -> None:
    """Let calls to the other processes fail, those that wait now included.

    gloo sees by itself that a process has ended; NCCL would wait for it.
    """
    if (group := dist.group.WORLD) is not None:
        group.abort()


@contextmanager
def _spoken() -> Generator[None]:
    """Torch tells a broken connection by RuntimeError alone."""
    try:
        yield
    except RuntimeError as error:
        raise NoAnswerError(f"another process of the training does not answer: {error}") from error


@contextmanager
def _loopback() -> Generator[None]:
    """Keep both backends from choosing the interface of a network."""
    name = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    before = {key: os.environ.get(key) for key in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")}
    os.environ.update(dict.fromkeys(before, name))
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
