"""CUDA C++ that is compiled for a GPU when first launched, and kept in the user's cache folder."""

import hashlib
import io
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import torch
from cuda.bindings import nvrtc
from cuda.core import Device, Kernel, LaunchConfig, ObjectCode, ProgramOptions, launch
from cuda.core import Program as Compilation
from torch import Tensor
from typing_extensions import override

from andrea_exp.atomic import replacing
from andrea_exp.component import Refusal
from andrea_exp.data.cache import kept, key_of
from andrea_exp.kernel.launcher import HEADER, Launcher, checked

_STANDARD: Final = "c++17"
_CONTRACT: Final = False
"""Whether a * b + c may become one rounding; if not, kernels compute what their source says."""
_FILE: Final = "checked.cubin"
_DIGEST_BYTES: Final = hashlib.sha256().digest_size


@final
class Program(Launcher):
    """The kernels of one `.cu` file on GPUs.

    A launch goes to the current stream of torch and waits for nothing. A kernel's first launch
    compiles and loads it, so it comes before the capture of a CUDA graph.
    """

    def __init__(self, source: Path) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._loaded: dict[str, ObjectCode] = {}
        self._kernels: dict[tuple[str, str], Kernel] = {}

    @override
    def launch(
        self,
        kernel: str,
        *,
        grid: tuple[int, int, int],
        block: int,
        arguments: Sequence[Tensor | int | float],
    ) -> None:
        device = checked(grid, block, arguments)
        values = [each.data_ptr() if isinstance(each, Tensor) else each for each in arguments]
        with torch.cuda.device(device):
            Device(device.index).set_current()  # a thread of autograd's may have no context yet
            found = self._kernel(kernel, architecture_of(device))
            assert found.num_arguments == len(values), f"{kernel} takes {found.num_arguments}"
            stream = torch.cuda.current_stream(device)
            launch(stream, LaunchConfig(grid=grid, block=block), found, *values)

    def _kernel(self, name: str, architecture: str) -> Kernel:
        with self._lock:
            if architecture not in self._loaded:
                code = cubin(self._source, architecture)
                self._loaded[architecture] = ObjectCode.from_cubin(code, name=self._source.name)
            key = (architecture, name)
            if key not in self._kernels:
                self._kernels[key] = self._loaded[architecture].get_kernel(name)
            return self._kernels[key]


def architecture_of(device: torch.device) -> str:
    """What kernels of a GPU are compiled for."""
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}"


def cubin(source: Path, architecture: str) -> bytes:
    """Machine code of a `.cu` file, compiled only if the cache folder does not have it whole.

    Raises:
        Refusal: it does not compile, or the cache folder cannot be written.
        DiskFull: there is no room for it.
    """

    def make(draft: Path) -> None:
        code = compiled(source, architecture)
        with replacing(draft / _FILE) as file:
            file.write_bytes(hashlib.sha256(code).digest() + code)

    texts = [path.read_text(encoding="utf-8") for path in (source, HEADER)]
    version = [str(part) for part in nvrtc.nvrtcVersion()[1:]]
    key = key_of(*texts, _STANDARD, str(_CONTRACT), *version, architecture)
    entry = kept("cuda", key, make, whole=lambda entry: _read(entry) is not None)
    code = _read(entry)
    assert code is not None, f"{entry} was damaged while it was read"
    return code


def compiled(source: Path, architecture: str) -> bytes:
    """Machine code of a `.cu` file, made now; no GPU is needed.

    Args:
        source: the file.
        architecture: `sm_90` for compute capability 9.0, and so on.

    Raises:
        Refusal: the compiler finds an error or has a warning.
    """
    options = ProgramOptions(
        name=source.name,
        arch=architecture,
        std=_STANDARD,
        fma=_CONTRACT,
        include_path=str(HEADER.parent),
    )
    log = io.StringIO()
    try:
        code = Compilation(source.read_text(encoding="utf-8"), "c++", options).compile(
            "cubin", logs=log
        )
    except Exception as error:
        raise _refusal(source, architecture, str(error)) from error
    warnings = log.getvalue().strip(" \n\0")
    if warnings:
        raise _refusal(source, architecture, warnings)
    return bytes(code.code)


def _refusal(source: Path, architecture: str, message: str) -> Refusal:
    return Refusal(f"{source} does not compile for {architecture}:\n{message.strip()}")


def _read(entry: Path) -> bytes | None:
    """The machine code in an entry of the cache, if it is whole."""
    try:
        content = (entry / _FILE).read_bytes()
    except OSError:
        return None
    digest, code = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == digest else None
