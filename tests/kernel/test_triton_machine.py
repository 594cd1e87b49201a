"""Whether Triton can run on this machine."""

import pytest
import torch

from andrea_exp.kernel.triton_machine import INTERPRETER, reasons
from tests.kernel.contract import some_use


def test_the_gpu_that_is_asked_is_the_one_of_the_run(monkeypatch: pytest.MonkeyPatch):
    def capability(device: torch.device | None = None) -> tuple[int, int]:
        return (7, 5) if device == torch.device("cuda", 1) else (9, 0)

    pytest.importorskip("triton")
    monkeypatch.delenv(INTERPRETER, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", capability)
    assert reasons(some_use(device=torch.device("cuda", 0))) == []
    (reason,) = reasons(some_use(device=torch.device("cuda", 1)))
    assert reason == "this GPU has compute capability 7.5, below 8.0"
