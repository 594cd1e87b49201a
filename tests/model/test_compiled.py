"""torch.compile takes the whole loss as one graph."""

import os
import subprocess
import sys

import pytest

from tests import options

# A process of its own: the shape checks of the test run would be compiled too.
PROGRAM = """
import dataclasses, sys, torch
from tests import options

ids = torch.arange(14).view(2, 7)
for option in sys.argv[1:]:
    schemes = [options.position(option)]
    if hasattr(schemes[0], "computed"):
        schemes.append(dataclasses.replace(schemes[0], computed=True))
    for scheme in schemes:
        model = options.decoder(
            options.model(),
            position=scheme,
            embedding=options.embedding("table"),
            output=options.output("tied"),
        )
        torch.compiler.reset()
        compiled = torch.compile(model.losses, backend="eager", fullgraph=True)
        torch.testing.assert_close(compiled(ids, ids), model.losses(ids, ids))
    print(option)
"""


@pytest.mark.slow
def test_the_loss_of_every_position_scheme_is_one_graph():
    every = options.names("position")
    names = [option for option in every if options.values("position", option)["name"] == option]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names],
        cwd=options.PACKAGE.parent,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, names), done.stderr
