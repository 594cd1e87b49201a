"""Kernel backends on the command line: what runs is recorded, and what cannot run is refused."""

from pathlib import Path

import pytest
import torch

import andrea_exp
from andrea_exp.__main__ import main
from andrea_exp.config.request import request
from andrea_exp.kernel.triton_machine import INTERPRETER
from tests.commands import tiny

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU runs these for real")
OPERATIONS = ("embedding", "attention", "cross_entropy")
STEPS = ("trainer.max_steps=20", "trainer.log_every_steps=1", "data.batch_size=2")
TINY = (*tiny.SMALL, *tiny.QUICK, *tiny.RUNNING, *tiny.LEAN, "optimizer.schedule.warmup_steps=0")
SCHEMES = ("learned", "sinusoidal position.computed=true output=untied", "alibi")
Said = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("bundle", "refused"), [("triton", OPERATIONS), ("cuda", ("embedding", "cross_entropy"))]
)
def test_a_gpu_backend_without_a_gpu_is_one_message_and_status_two(
    bundle: str,
    refused: tuple[str, ...],
    place: Path,
    capsys: Said,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(INTERPRETER, raising=False)
    assert main([*tiny.WORDS, f"kernel={bundle}"]) == 2
    said = capsys.readouterr()
    lines = said.err.removeprefix("andrea_exp: ").splitlines()
    assert said.out == ""
    assert [line.partition(" cannot run here: ")[0] for line in lines] == [
        f"kernel/{operation}={bundle}" for operation in refused
    ]
    for line in lines:
        assert "runtime=gpu" in line
        here = line.partition("here can: ")[2].split(", ")
        assert "torch" in here
        assert not {"triton", "cuda", "liger"} & set(here)
    assert tiny.files(place) == set()


def test_a_sweep_over_one_that_cannot_run_is_refused_before_any_run_trains(
    place: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(INTERPRETER, raising=False)
    assert main(["-m", *tiny.WORDS, "kernel=torch,triton"]) == 2
    assert "kernel/embedding=triton cannot run here: " in capsys.readouterr().err
    assert not [path for path in tiny.files(place) if str(path).endswith("metrics.jsonl")]


@pytest.mark.slow
@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_twenty_interpreted_steps_have_the_losses_of_the_reference(scheme: str) -> None:
    words = [*TINY, "data=grammar", *STEPS, *f"position={scheme}".split()]
    reference, interpreted = tiny.train(*words), tiny.train(*words, "kernel=triton")
    assert tiny.manifest(interpreted)["kernel"] == dict.fromkeys(OPERATIONS, "triton (interpreted)")
    found, expected = (
        torch.tensor([row["train_loss_nats"] for row in tiny.metrics(run)], dtype=torch.float64)
        for run in (interpreted, reference)
    )
    assert len(expected) == 20
    # Each step may add some roundings of its own to those that it starts from.
    allowed = 20 * torch.finfo(torch.float32).eps * expected.max()
    assert (found - expected).abs().max() <= allowed
    assert (expected[0] - expected[-1]).abs() > 1000 * allowed


@pytest.mark.parametrize("bundle", ["triton", "cuda"])
def test_what_a_backend_needs_is_not_imported_before_it_runs(bundle: str) -> None:
    words = [*tiny.WORDS, f"kernel={bundle}"]
    counted = f"""
import sys
import andrea_exp
sys.modules |= dict.fromkeys(("triton", "cuda", "cuda.core", "cuda.bindings"))
run = andrea_exp.compose(*{words!r})
run.build_model(allocate=False)
run.check(elsewhere=True)
print("counted and checked")
"""
    assert tiny.python(counted) == "counted and checked"


def test_a_model_without_memory_computes_nothing() -> None:
    model = andrea_exp.compose(*tiny.WORDS).build_model(allocate=False)
    with pytest.raises(TypeError, match="can only be counted"):
        model(torch.zeros(1, 8, dtype=torch.int64, device="meta"))


def test_a_bundle_can_be_mixed() -> None:
    kernel = request([*tiny.WORDS, "kernel=triton", "kernel/embedding=torch"]).config.recipe.kernel
    names = {operation: backend.name for operation, backend in kernel.backends().items()}
    assert names == {"embedding": "torch", "attention": "triton", "cross_entropy": "triton"}
