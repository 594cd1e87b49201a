"""`python -m andrea_exp.bench [overrides]`: every kernel backend timed, once it is correct.

Sizes, precision, device and position scheme are those of the composition that the overrides
describe; a list of values, as in model.d_model=128,768, gives one table each, and without one there
is a table for one sequence, a quarter of the batch and all of it. All backends are compared, so
kernel= is refused; model.compile=true compiles each operation by itself. Whatever cannot run here
says why, and what does not match the reference in float64 is not timed.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from andrea_exp.command import DONE, FAILED, finish, let_waiting_threads_sleep
from andrea_exp.component import Refusal


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 if a backend is wrong or fails, or 2 for a wrong request."""
    parser = argparse.ArgumentParser(
        prog="python -m andrea_exp.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit status: 0, 1 if a backend is wrong or fails, 2 for a wrong request.",
    )
    parser.add_argument("overrides", nargs="*", help="group=option or key=value, as for training")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        help="write the JSON into a file as well; bench*.json beside runs goes into their report",
    )
    arguments = parser.parse_intermixed_args(argv)
    return finish(lambda: _answer(arguments))


def _answer(arguments: argparse.Namespace) -> int:
    let_waiting_threads_sleep()
    from rich.console import Console

    from andrea_exp.bench import terminal
    from andrea_exp.bench.compositions import compositions
    from andrea_exp.bench.sitting import TASKS, bench, blocks
    from andrea_exp.config.backends import backends
    from andrea_exp.record.bench import is_bench
    from andrea_exp.report.page import check_output, write

    output: Path | None = arguments.output
    if output is not None:
        check_output(output)
        if output.exists() and not is_bench(output):
            raise Refusal(
                f"{output} is there and holds something else; choose another place with "
                "--output FILE"
            )
    asked = compositions(arguments.overrides)
    if asked.left_out:
        keys = " and ".join(asked.left_out)
        print(
            f"andrea_exp: the grid over {keys} is left out: give a value of each", file=sys.stderr
        )
    offered = backends()
    options = {task.operation: offered[task.operation] for task in TASKS}
    console = Console(highlight=False, quiet=arguments.json)
    console.print(terminal.abilities(asked.blocks, options))
    measured = []
    for block in blocks(asked.blocks, options):
        console.print(terminal.block(block))
        measured.append(block)
    found = bench(arguments.overrides, measured)
    console.print(terminal.legend())
    if arguments.json:
        print(found.text(), end="")
    if output is not None:
        write(output, found.text())
    return DONE if found.sound else FAILED


if __name__ == "__main__":
    sys.exit(main())
