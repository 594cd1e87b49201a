"""An id outside the token table stops a GPU, so that no wrong row is ever read."""

import subprocess
import sys

import pytest
import torch

from tests import options
from tests.kernel.embedding.backends import EMULATED, OPERATORS, built

PROGRAM = """
import sys
import torch
from tests.kernel.embedding.backends import built

ids = torch.tensor([[0, int(sys.argv[2])]], device="cuda")
built(sys.argv[1])(ids, torch.zeros(3, 8, device="cuda"), None, multiplier=1.0)
torch.cuda.synchronize()
"""


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize(("wrong", "stops"), [(-1, True), (3, True), (2, False)])
@pytest.mark.parametrize("name", [name for name in OPERATORS if name != EMULATED])
def test_a_wrong_id_stops_a_gpu(name: str, *, wrong: int, stops: bool):
    built(name)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, str(wrong)],
        cwd=options.PACKAGE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode != 0) == stops, done.stderr
    assert ("assert" in done.stderr) == stops
