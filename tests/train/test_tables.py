"""Token and position tables under training."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from andrea_exp.model.decoder import Decoder
from tests import options
from tests.train import toy


def is_one_storage(model: Decoder) -> bool:
    """Whether the output scores with the very memory of the token table."""
    rows = model.output.rows(embedding=model.embedding)
    return rows.data_ptr() == model.embedding.token_rows().data_ptr()


@pytest.mark.parametrize(("output", "one"), [("tied", True), ("untied", False)])
def test_tied_storage_is_one_after_training_and_after_a_resume(
    tmp_path: Path, output: str, one: bool
):
    trained = toy.train(tmp_path, model=toy.decoder(output=output))
    assert is_one_storage(trained.model) is one
    resumed = toy.train(tmp_path, model=toy.decoder(output=output), resume=True)
    assert is_one_storage(resumed.model) is one
    for result in (trained, resumed):
        rows = result.model.output.rows(embedding=result.model.embedding)
        assert torch.equal(rows, result.model.embedding.token_rows()) is one
    saved = torch.load(tmp_path / "last.ckpt", weights_only=True)["model"]
    assert ("output.weight" in saved) is not one
    assert saved.keys() == toy.decoder(output=output).state_dict().keys()


# A process of its own: the shape checks of the test run would be compiled too.
COMPILED = """
import sys, torch
from pathlib import Path
from tests.train import toy
from tests.train.test_tables import is_one_storage

plain = torch.compile
torch.compile = lambda function: plain(function, backend="eager")
eager = toy.train(Path(sys.argv[1]), model=toy.decoder(dropout=0.0))
compiled = toy.train(Path(sys.argv[2]), model=toy.decoder(dropout=0.0, compile=True))
assert is_one_storage(compiled.model)
assert compiled.timeless() == eager.timeless()
saved = torch.load(Path(sys.argv[2]) / "last.ckpt", weights_only=True)["model"]
assert saved.keys() == compiled.model.state_dict().keys() == eager.model.state_dict().keys()
assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
"""


@pytest.mark.slow
def test_compiled_training_has_the_plain_names_and_one_storage(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", COMPILED, str(tmp_path / "eager"), str(tmp_path / "compiled")],
        cwd=options.PACKAGE.parent,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def input_gradient(output: str) -> tuple[Tensor, Tensor]:
    """The gradient of the token table, and which ids the batch holds."""
    model = toy.decoder(output=output)
    batch = toy.stream(toy.trainer())[0]
    inputs = batch.inputs % 8  # leaves rows 8.. out
    model.losses(inputs, batch.targets).mean().backward()
    gradient = model.embedding.token_rows().grad
    assert gradient is not None
    seen = torch.zeros(toy.VOCAB, dtype=torch.bool)
    seen[inputs.unique()] = True
    return gradient, seen


def test_a_tied_gradient_touches_every_row():
    gradient, seen = input_gradient("tied")
    assert not seen.all()
    assert (gradient != 0).any(dim=1).all()


def test_an_untied_gradient_is_zero_on_rows_that_are_not_in_the_batch():
    gradient, seen = input_gradient("untied")
    assert not gradient[~seen].any()
    assert (gradient[seen] != 0).any(dim=1).all()


def test_a_sinusoid_is_bit_identical_after_training_and_in_no_checkpoint(tmp_path: Path):
    model = toy.decoder("sinusoidal")
    before = model.position.table()
    assert before is not None
    drawn = before.clone()
    trained = toy.train(tmp_path, model=model)
    after = trained.model.position.table()
    assert after is not None
    assert torch.equal(after, drawn)
    assert not list(model.position.parameters())
    assert not any(group.name == "positions" for group in trained.outcome.groups)
    saved = torch.load(tmp_path / "last.ckpt", weights_only=True)["model"]
    assert not [name for name in saved if name.startswith("position")]


def test_a_learned_table_does_move(tmp_path: Path):
    model = toy.decoder("learned")
    drawn = toy.decoder("learned").position.table()
    trained = toy.train(tmp_path, model=model).model.position.table()
    assert drawn is not None
    assert trained is not None
    assert not torch.equal(trained, drawn)
