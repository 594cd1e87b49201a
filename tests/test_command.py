"""How a command ends."""

import subprocess
import sys


def test_a_reader_that_leaves_early_ends_a_command_in_silence() -> None:
    command = [sys.executable, "-m", "andrea_exp", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
