"""CUDA C++ that is compiled for a GPU when first launched, and kept in the user's cache folder."""

# cuda-core picks its modules for CUDA 12 or 13 when it is imported, which hides their types.
# pyright: reportMissingTypeStubs=false, reportAttributeAccessIssue=false
# pyright: reportUnknownParameterType=false
import hashlib
import io
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, final

import torch
from cuda.bindings import driver, nvrtc
from cuda.core import Device, Kernel, LaunchConfig, ObjectCode, ProgramOptions, Stream, launch
from cuda.core import Program as Compilation
from torch import Tensor
from typing_extensions import override

from andrea_exp.atomic import replacing
from andrea_exp.component import Refusal
from andrea_exp.data.cache import kept, key_of
from andrea_exp.kernel.launcher import HEADER, Launcher, checked

_STANDARD: Final = "c++17"
_CONTRACT: Final = False
"""Whether a * b + c may be rounded once; as it is not, kernels compute what their source says."""
_FILE: Final = "cubin"
_DIGEST_BYTES: Final = hashlib.sha256().digest_size


class _Loaded(NamedTuple):
    kernel: Kernel
    num_parameters: int


@final
class Program(Launcher):
    """The kernels of one `.cu` file on GPUs.

    A launch goes to torch's current stream and waits for nothing. The first launch of a kernel
    compiles and loads it, so it comes before the capture of a CUDA graph.
    """

    def __init__(self, source: Path) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._code: dict[str, ObjectCode] = {}
        self._kernels: dict[tuple[str, str], _Loaded] = {}

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
        assert device.type == "cuda", f"tensors on {device}"
        values = [each.data_ptr() if isinstance(each, Tensor) else each for each in arguments]
        with torch.cuda.device(device):
            Device(device.index).set_current()  # autograd's own threads may have no context yet
            found = self._load(kernel, device)
            count = found.num_parameters
            assert len(values) == count, f"{kernel} takes {count} arguments, not {len(values)}"
            stream = _stream(torch.cuda.current_stream(device).cuda_stream)
            launch(stream, LaunchConfig(grid=grid, block=block), found.kernel, *values)

    def _load(self, kernel: str, device: torch.device) -> _Loaded:
        """A kernel; code is loaded once for all GPUs of one architecture."""
        architecture = architecture_of(device)
        with self._lock:
            if architecture not in self._code:
                code = cubin(self._source, architecture)
                self._code[architecture] = ObjectCode.from_cubin(code, name=self._source.name)
            key = (architecture, kernel)
            if key not in self._kernels:
                found = self._code[architecture].get_kernel(kernel)
                self._kernels[key] = _Loaded(found, found.num_arguments)
            return self._kernels[key]


@cache
def _stream(handle: int) -> Stream:
    return Stream.from_handle(handle)


def misfits(*, capability: tuple[int, int], newest_cuda: int) -> list[str]:
    """Why a GPU cannot run what the compiler here makes, by their versions; empty if it can.

    Args:
        capability: compute capability of the GPU.
        newest_cuda: the newest CUDA that its driver knows, 13000 for 13.0.
    """
    found: list[str] = []
    _, major, minor = nvrtc.nvrtcVersion()
    _, known = nvrtc.nvrtcGetSupportedArchs()
    if 10 * capability[0] + capability[1] not in known:
        found.append(
            f"NVIDIA's compiler {major}.{minor} knows no compute capability "
            f"{capability[0]}.{capability[1]} (pip install --upgrade 'cuda-core[cu13]')"
        )
    if newest_cuda // 1000 < major:
        found.append(
            f"the GPU's driver knows CUDA up to {newest_cuda // 1000}.{newest_cuda % 1000 // 10}, "
            f"and what the compiler makes is for CUDA {major} (install a newer driver)"
        )
    return found


def newest_cuda() -> int:
    """What the driver of this machine's GPUs knows, 13000 for CUDA 13.0."""
    error, version = driver.cuDriverGetVersion()
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return version


@cache
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
    how = (_STANDARD, _CONTRACT, nvrtc.nvrtcVersion(), architecture)
    key = key_of(source.name, *texts, *map(str, how))
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
    text, log = source.read_text(encoding="utf-8"), io.StringIO()
    try:
        code = Compilation(text, "c++", options).compile("cubin", logs=log)
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
