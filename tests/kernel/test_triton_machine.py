"""Whether Triton can run on this machine, and who may launch a kernel when."""

import threading

import pytest
import torch
from torch import Tensor

from andrea_exp.kernel import triton_machine
from andrea_exp.kernel.triton_machine import INTERPRETER
from tests.kernel.contract import some_use
from tests.kernel.embedding.backends import built


@pytest.mark.parametrize("word", ["1", "0", "", "yes", "TRUE", "on", "y", "no", "2", "interpret"])
def test_the_variable_is_read_as_triton_reads_it(word: str, monkeypatch: pytest.MonkeyPatch):
    knobs = pytest.importorskip("triton.knobs")
    monkeypatch.setenv(INTERPRETER, word)
    assert triton_machine.interpreted() == knobs.runtime.interpret


def test_a_reason_repeats_the_word_that_was_set(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("triton")
    monkeypatch.setenv(INTERPRETER, "yes")
    (reason,) = triton_machine.reasons(some_use(device=torch.device("cuda")))
    assert reason.startswith(f"{INTERPRETER}=yes is set")


def test_threads_do_not_disturb_each_other():
    embed = built("triton")
    ids, table = torch.arange(400).view(10, 40) % 30, torch.randn(30, 8)
    right, found = table[ids], list[Tensor]()
    ids, right, table = (each.to(some_use().device) for each in (ids, right, table))

    def work() -> None:
        found.extend(embed(ids, table, None, multiplier=1.0) for _ in range(4))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert all(torch.equal(each, right) for each in found)


def test_the_gpu_that_is_asked_is_the_one_of_the_run(monkeypatch: pytest.MonkeyPatch):
    def capability(device: torch.device | None = None) -> tuple[int, int]:
        return (7, 5) if device == torch.device("cuda", 1) else (9, 0)

    pytest.importorskip("triton")
    monkeypatch.delenv(INTERPRETER, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", capability)
    assert triton_machine.reasons(some_use(device=torch.device("cuda", 0))) == []
    (reason,) = triton_machine.reasons(some_use(device=torch.device("cuda", 1)))
    assert reason == "this GPU has compute capability 7.5, below 8.0"
