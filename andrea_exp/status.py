"""`python -m andrea_exp.status DIR`: how far the jobs of a sweep are, now and from any machine."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from andrea_exp.command import finish


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 however the jobs stand, 2 if there are none."""
    parser = argparse.ArgumentParser(prog="python -m andrea_exp.status", description=__doc__)
    parser.add_argument("directory", type=Path, nargs="+", help="a sweep, or a folder of them")
    parser.add_argument("--json", action="store_true", help="a list of jobs, for programs")
    arguments = parser.parse_args(argv)
    return finish(lambda: _answer(arguments.directory, as_json=arguments.json))


def _answer(paths: Sequence[Path], *, as_json: bool) -> int:
    from dataclasses import asdict

    from andrea_exp.report.jobs import job_states, job_table

    if as_json:
        print(json.dumps([asdict(state) for state in job_states(paths)], indent=2))
    else:
        print(job_table(paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
