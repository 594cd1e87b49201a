"""`python -m andrea_exp.compare RUN RUN [--json]`: are two runs the same, bit for bit?"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from andrea_exp.command import DONE, finish

DIFFERENT = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 if they are the same, 1 if they differ, 2 for a wrong request."""
    parser = argparse.ArgumentParser(
        prog="python -m andrea_exp.compare",
        description=f"{__doc__} Names, places and times aside.",
        epilog="Exit status: 0 if they are the same, 1 if they differ, 2 for a wrong request.",
    )
    parser.add_argument("first", type=Path, metavar="RUN", help="a run directory, finished or not")
    parser.add_argument("second", type=Path, metavar="RUN", help="another")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args(argv)
    return finish(lambda: _answer(arguments.first, arguments.second, as_json=arguments.json))


def _answer(first: Path, second: Path, *, as_json: bool) -> int:
    from dataclasses import asdict

    from andrea_exp.report.comparison import comparison, lines

    compared = comparison(first, second)
    if as_json:
        print(json.dumps(asdict(compared), indent=2))
    else:
        print("\n".join(lines(compared)))
    return DONE if compared.same else DIFFERENT


if __name__ == "__main__":
    sys.exit(main())
