"""CUDA C++ compiled without a GPU, kept in the cache, and launched where there is one."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

import andrea_exp

pytest.importorskip("cuda.core")

from andrea_exp.component import Refusal
from andrea_exp.data.cache import VARIABLE
from andrea_exp.kernel import cuda_machine, cuda_program
from andrea_exp.kernel.cuda_program import Program, compiled, cubin, misfits
from tests.kernel.contract import some_use

PACKAGE = Path(andrea_exp.__file__).parent
SMALL = Path(__file__).parent / "cuda_host" / "kernels.cu"
SOURCES = [SMALL, *sorted(PACKAGE.rglob("*.cu"))]
KERNEL = 'extern "C" __global__ void put(float* numbers) {{ {} }}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "cuda"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "small.cu"
    path.write_text(KERNEL.format("numbers[threadIdx.x] = 1;"))
    return path


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_source_compiles_without_a_warning(path: Path, architecture: str):
    assert cubin(path, architecture).startswith(b"\x7fELF")


def test_what_is_kept_is_what_the_compiler_made_and_is_not_made_again(folder: Path, source: Path):
    code = cubin(source, "sm_90")
    assert code == compiled(source, "sm_90")
    (entry,) = entries(folder)
    made = entry.stat()
    assert cubin(source, "sm_90") == code
    assert (entry.stat().st_ino, entry.stat().st_mtime_ns) == (made.st_ino, made.st_mtime_ns)


def test_another_source_architecture_or_header_is_another_entry(
    folder: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    codes = [cubin(source, "sm_90"), cubin(source, "sm_80")]
    source.write_text(KERNEL.format("numbers[threadIdx.x] = 2;"))
    codes.append(cubin(source, "sm_90"))
    assert len(set(codes)) == len(entries(folder)) == 3
    header = tmp_path / "numbers.cuh"
    header.write_text(cuda_program.HEADER.read_text() + "// Another.\n")
    monkeypatch.setattr(cuda_program, "HEADER", header)
    cubin(source, "sm_90")
    assert len(entries(folder)) == 4


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a bit": lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1])),
    "the last byte": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "all bytes": lambda path: path.write_bytes(b""),
    "the file": lambda path: path.unlink(),
}


@pytest.mark.parametrize("lost", DAMAGE)
def test_a_damaged_entry_is_compiled_again(folder: Path, source: Path, lost: str):
    code = cubin(source, "sm_90")
    (entry,) = entries(folder)
    (file,) = entry.iterdir()
    DAMAGE[lost](file)
    assert cubin(source, "sm_90") == code
    assert entries(folder) == [entry]


def test_where_nothing_can_be_written_one_is_told_what_to_do(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    with pytest.raises(Refusal, match=f"cannot be written: .* {VARIABLE}"):
        cubin(source, "sm_90")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("nubmers[0] = 1;", r'wrong\.cu\(1\): error: identifier "nubmers" is undefined'),
        ("int unused; numbers[0] = 1;", r'warning #177-D: variable "unused" was declared'),
    ],
)
def test_errors_and_warnings_are_refused_in_the_compilers_words(
    folder: Path, tmp_path: Path, body: str, said: str
):
    source = tmp_path / "wrong.cu"
    source.write_text(KERNEL.format(body))
    with pytest.raises(Refusal, match=rf"(?s)wrong\.cu does not compile for sm_90:.*{said}"):
        cubin(source, "sm_90")
    assert entries(folder) == []


def test_an_architecture_that_the_compiler_does_not_know_is_named(source: Path):
    with pytest.raises(Refusal, match=r"(?s)does not compile for sm_999:.*gpu-architecture"):
        compiled(source, "sm_999")


def test_a_gpu_that_the_compiler_does_not_know_is_told_so():
    assert misfits(capability=(9, 0), newest_cuda=13000) == []
    (reason,) = misfits(capability=(99, 9), newest_cuda=99000)
    assert "knows no compute capability 99.9" in reason


def test_a_driver_that_is_too_old_for_the_compiler_is_told_so():
    (reason,) = misfits(capability=(9, 0), newest_cuda=11080)
    assert "driver knows CUDA up to 11.8, and what the compiler makes is for CUDA" in reason


def test_tensors_in_the_memory_of_the_cpu_are_no_tensors_for_a_gpu(source: Path):
    with pytest.raises(AssertionError, match="tensors on cpu"):
        Program(source).launch("put", grid=(1, 1, 1), block=32, arguments=[torch.zeros(32)])


def on_gpu() -> None:
    reasons = cuda_machine.reasons(some_use(device=torch.device("cuda")))
    if reasons:
        pytest.skip("; ".join(reasons))


def scale(scaled: Tensor, numbers: Tensor, *, factor: float) -> None:
    count = len(numbers)
    grid = (-(-count // 64), 1, 1)
    arguments = [scaled, numbers, count, factor]
    Program(SMALL).launch("scale_f32", grid=grid, block=64, arguments=arguments)


@pytest.mark.gpu
def test_a_launch_follows_what_torch_has_queued_on_its_stream():
    on_gpu()
    numbers, scaled = torch.randn(1 << 20, device="cuda"), torch.empty(1 << 20, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        doubled = numbers * 2
        scale(scaled, doubled, factor=1.5)
        found = scaled + 1
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(found, numbers * 2 * 1.5 + 1)


@pytest.mark.gpu
def test_a_launch_can_be_captured_in_a_graph():
    on_gpu()
    numbers, scaled = torch.randn(100, device="cuda"), torch.empty(100, device="cuda")
    program = Program(SMALL)
    arguments = [scaled, numbers, 100, 2.0]
    program.launch("scale_f32", grid=(2, 1, 1), block=64, arguments=arguments)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        program.launch("scale_f32", grid=(2, 1, 1), block=64, arguments=arguments)
    numbers.fill_(3)
    graph.replay()
    assert (scaled == 6).all()


@pytest.mark.gpu
def test_a_wrong_number_of_arguments_is_not_launched():
    on_gpu()
    with pytest.raises(AssertionError, match="scale_f32 takes 4 arguments, not 1"):
        Program(SMALL).launch(
            "scale_f32", grid=(1, 1, 1), block=64, arguments=[torch.zeros(64, device="cuda")]
        )
