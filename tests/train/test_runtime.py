"""What is asked of the machine."""

import os
import sys
from typing import Any

import pytest
import torch

from andrea_exp.train.config import Device
from andrea_exp.train.runtime import (
    compile_reasons,
    device_name,
    peak_memory_mb,
    reasons,
    resolve_threads,
    settings,
)
from tests import options
from tests.train import toy


def test_the_default_runs_here():
    assert reasons(toy.runtime()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a CUDA device")
def test_a_device_that_is_not_there_is_named_with_its_remedy():
    (reason,) = reasons(toy.runtime(device="cuda"))
    assert reason.startswith("runtime.device=cuda:")
    assert "runtime=cpu" in reason


def test_more_gpus_than_there_are_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert reasons(toy.runtime(device="cuda", devices=2)) == []
    (reason,) = reasons(toy.runtime(device="cuda", devices=3))
    assert "runtime.devices=3: torch sees 2 CUDA devices here" in reason
    assert "use at most runtime.devices=2" in reason


def test_processes_that_something_else_has_started_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert reasons(toy.runtime()) == []
    (reason,) = reasons(toy.runtime(devices=2))
    assert "torchrun" in reason


def test_a_missing_compiler_is_named_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    (reason,) = (text for text in compile_reasons(toy.runtime()) if "Python.h" not in text)
    assert "model.compile=true" in reason
    assert "no-such-compiler" in reason
    monkeypatch.setenv("CXX", sys.executable)
    assert not any(sys.executable in text for text in compile_reasons(toy.runtime()))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_threads_are_the_cores_of_this_process_unless_asked():
    assert resolve_threads(toy.runtime(threads=None)) == len(os.sched_getaffinity(0))
    assert resolve_threads(toy.runtime(threads=5, devices=2)) == 5


def test_processes_share_the_cores_and_each_has_a_thread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "another")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    threads = [resolve_threads(toy.runtime(threads=None, devices=n)) for n in (1, 2, 8)]
    assert threads == [7, 3, 1]


def test_the_processor_has_a_name_and_memory_a_size():
    assert device_name(toy.runtime())
    assert 10 < peak_memory_mb(Device.cpu) < 1e6


def fills() -> bool:
    """Whether deterministic operations would find NaN in memory that nothing was written to."""
    module: Any = torch.utils.deterministic
    return module.fill_uninitialized_memory


def test_settings_hold_inside_and_are_put_back():
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    with settings(toy.runtime(threads=threads + 1)):
        assert torch.get_num_threads() == threads + 1
        assert torch.are_deterministic_algorithms_enabled()
        assert not fills()
        torch.manual_seed(1)
    assert torch.get_num_threads() == threads
    assert not torch.are_deterministic_algorithms_enabled()
    assert fills()
    assert torch.equal(torch.get_rng_state(), state)


def test_every_option_of_both_groups_fits_its_class():
    for option in options.names("runtime"):
        assert options.typed(type(toy.runtime()), options.values("runtime", option))
    for option in options.names("trainer"):
        assert options.typed(type(toy.trainer()), options.values("trainer", option))
