"""`python -m andrea_exp.job DIR`: execute, or resume, the run that is frozen in a directory."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from andrea_exp.command import finish, let_waiting_threads_sleep


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, 1 failed, 2 wrong request, 75 preempted, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m andrea_exp.job", description=__doc__)
    parser.add_argument("directory", type=Path, help="a run directory, pending or interrupted")
    arguments = parser.parse_args(argv)
    return finish(lambda: _answer(arguments.directory))


def _answer(directory: Path) -> int:
    let_waiting_threads_sleep()
    from andrea_exp.execution import execute_single

    return execute_single(directory)


if __name__ == "__main__":
    sys.exit(main())
