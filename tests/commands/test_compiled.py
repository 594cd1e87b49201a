"""`model.compile=true` from the command line."""

import math
from pathlib import Path

import pytest
from safetensors.torch import load_file

import andrea_exp
from andrea_exp.train.config import Device, RuntimeConfig
from andrea_exp.train.runtime import compile_reasons
from tests.commands import tiny

CPU = RuntimeConfig(device=Device.cpu, devices=1, threads=1, workers=0)
MISSING = compile_reasons(CPU)


@pytest.mark.skipif(bool(MISSING), reason="; ".join(MISSING))
@pytest.mark.slow
def test_a_compiled_model_trains_and_is_measured(tmp_path: Path) -> None:
    words = (*tiny.WORDS, "model.compile=true", "model.num_layers=1", "trainer.max_steps=2")
    words += ("evaluation.length_factors=[1,2]",)  # each length is compiled anew
    with tiny.start(tmp_path, *words) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    run = tiny.only_run(tmp_path)
    final = tiny.results(run)["final"]
    assert all(math.isfinite(final[loss]) for loss in ("train_loss_nats", "val_loss_nats"))
    assert tiny.manifest(run)["status"] == "completed"
    plain = andrea_exp.compose(*words, "model.compile=false").build_model()
    plain.load_state_dict(load_file(run / "model.safetensors"))
