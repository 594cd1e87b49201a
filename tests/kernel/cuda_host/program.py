"""Kernels in CUDA C++ on the CPU: the same `.cu` file, compiled by g++, run thread by thread."""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, final

import pytest
import torch
from torch import Tensor
from typing_extensions import override

from andrea_exp.data.cache import kept, key_of
from andrea_exp.kernel.launcher import HEADER, Launcher, checked

_HERE: Final = Path(__file__).parent
_FLAGS: Final = [
    *("-x", "c++", "-std=c++20", "-O2", "-g1", "-fPIC", "-fvisibility=hidden"),
    *("-ffp-contract=off", "-U_FORTIFY_SOURCE"),
    *("-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"),
    *("-fsanitize=bounds,alignment", "-fno-sanitize-recover=all", f"-I{HEADER.parent}"),
]
_CANARIES: Final = 4096
"""Elements, at least, before and after each tensor."""
_ALIGNMENT_BYTES: Final = 64
"""Of whole tensors; views begin anywhere."""


class KernelFault(Exception):  # noqa: N818 - what a kernel did, not what went wrong here
    """A kernel does not compile, or did what a GPU would not forgive; the text says what."""


class Order(IntEnum):
    """Whose turn comes first, of the threads between two barriers and of the blocks."""

    ASCENDING = 0
    DESCENDING = 1
    SHUFFLED = 2


class _Value(ctypes.Union):
    _fields_ = (
        ("pointer", ctypes.c_void_p),
        ("integer", ctypes.c_longlong),
        ("real", ctypes.c_double),
    )


class _Argument(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_char), ("value", _Value))


@final
class HostProgram(Launcher):
    """The kernels of one `.cu` file, on tensors in the memory of the CPU."""

    def __init__(self, source: Path, *, order: Order = Order.ASCENDING, seed: int = 0) -> None:
        if shutil.which("g++") is None:
            pytest.skip("g++ is not installed")
        self._library = _loaded(source.absolute(), source.read_text(encoding="utf-8"))
        self._order = order
        self._seed = seed

    @override
    def launch(
        self,
        kernel: str,
        *,
        grid: tuple[int, int, int],
        block: int,
        arguments: Sequence[Tensor | int | float],
    ) -> None:
        """Run one kernel to its end.

        Raises:
            KernelFault: an assertion of the kernel failed; threads wait for some that never come;
                it wrote beside a tensor, went over the end of an array or used a crooked address;
                or there is no kernel that has this name and takes these arguments.
        """
        assert checked(grid, block, arguments) == torch.device("cpu")
        guarded = _Guarded([each for each in arguments if isinstance(each, Tensor)])
        packed = [_packed(each, guarded) for each in arguments]
        fault = self._library.launch(
            kernel.encode(),
            (ctypes.c_uint * 3)(*grid),
            ctypes.c_uint(block),
            (_Argument * len(packed))(*packed),
            ctypes.c_size_t(len(packed)),
            ctypes.c_int(self._order),
            ctypes.c_uint(self._seed),
        )
        if fault:
            raise KernelFault(f"{kernel}: {fault.decode()}")
        guarded.copy_back(kernel)


class _Guarded:
    """Copies of tensors between canaries; one for all that begin at one place in memory."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        # Of several, the longest comes last and stays.
        distinct = {each.data_ptr(): each for each in sorted(tensors, key=lambda each: each.nbytes)}
        ordered = sorted(distinct.items(), key=lambda item: item[0])
        for (address, tensor), (following, _) in pairwise(ordered):
            assert address + tensor.nbytes <= following, "tensors overlap"
        self._copies = {
            address: _Copy(tensor, number=number)
            for number, (address, tensor) in enumerate(ordered)
        }

    def address(self, tensor: Tensor) -> int:
        return self._copies[tensor.data_ptr()].address

    def copy_back(self, kernel: str) -> None:
        for copy in self._copies.values():
            copy.copy_back(kernel)


class _Copy:
    """Elements of a tensor between canaries, all of them integers of the elements' size.

    As floats, canaries are signalling NaN: even a sum into one changes it. The elements lie as far
    past a multiple of _ALIGNMENT_BYTES as in the tensor.
    """

    def __init__(self, tensor: Tensor, *, number: int) -> None:
        self._tensor = tensor
        self._canary = -1 - number  # differs, so that copying one to another shows
        if tensor.is_floating_point():
            self._canary -= round(0.5 / torch.finfo(tensor.dtype).eps)
        width = tensor.element_size()
        dtype = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[width]
        count = tensor.numel() + 2 * _CANARIES + _ALIGNMENT_BYTES // width
        self._all = torch.full((count,), self._canary, dtype=dtype)
        past = (tensor.data_ptr() - self._all.data_ptr()) % _ALIGNMENT_BYTES
        self._first = _CANARIES + past // width
        self.address = self._all.data_ptr() + self._first * width
        ctypes.memmove(self.address, tensor.data_ptr(), tensor.nbytes)

    def copy_back(self, kernel: str) -> None:
        before = self._all[: self._first]
        after = self._all[self._first + self._tensor.numel() :]
        for side, canaries in (("before", before), ("after", after)):
            if (canaries != self._canary).any():
                shape = tuple(self._tensor.shape)
                raise KernelFault(f"{kernel} wrote {side} a tensor of shape {shape}")
        ctypes.memmove(self._tensor.data_ptr(), self.address, self._tensor.nbytes)


def _packed(value: Tensor | int | float, guarded: _Guarded) -> _Argument:
    if isinstance(value, Tensor):
        return _Argument(b"p", _Value(pointer=guarded.address(value)))
    if isinstance(value, int):
        return _Argument(b"i", _Value(integer=value))
    return _Argument(b"f", _Value(real=value))


@cache
def _loaded(source: Path, text: str) -> Any:
    """The shared library of a `.cu` file, compiled once per session."""
    texts = [path.read_text(encoding="utf-8") for path in (HEADER, *sorted(_HERE.glob("*.h")))]
    key = key_of(*_FLAGS, str(source), text, *texts)
    entry = kept("cuda_host", key, lambda draft: _build(source, draft))
    # Holds Python's lock while it runs, as it can run but one kernel at a time.
    library: Any = ctypes.PyDLL(str(entry / "kernels.so"))
    library.launch.restype = ctypes.c_char_p
    return library


def _build(source: Path, folder: Path) -> None:
    # In a namespace without a name even a template's variables go where `__shared__` puts them.
    text = f'#include "{_HERE / "launch.h"}"\nnamespace {{\n#include "{source}"\n}}\n'
    expanded = _compiler(*_FLAGS, "-E", "-P", "-", text=text)
    pattern = r'extern "C"\s+__attribute__\(\(noinline\)\)\s+void\s+(\w+)\s*\('
    for name in re.findall(pattern, expanded):
        text += (
            f'[[maybe_unused]] static bool entered_{name} = cuda_host::enter("{name}", {name});\n'
        )
    compiled, linked = str(folder / "kernels.o"), str(folder / "kernels.so")
    _compiler(*_FLAGS, "-c", "-o", compiled, "-", text=text)
    _compiler("-shared", "-o", linked, compiled)


def _compiler(*arguments: str, text: str = "") -> str:
    done = subprocess.run(
        ["g++", *arguments], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise KernelFault(done.stderr)
    return done.stdout
