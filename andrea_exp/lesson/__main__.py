"""`python -m andrea_exp.lesson [RUN]`: the claims of the lessons, each measured now.

Exact claims are measured with the program's own parts; those that training decides are read from
RUN, a run directory or a folder that holds some, such as a sweep.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from andrea_exp.command import DONE, FAILED, finish, let_waiting_threads_sleep
from andrea_exp.component import Refusal


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 if a claim fails, or 2 for a wrong request."""
    parser = argparse.ArgumentParser(
        prog="python -m andrea_exp.lesson",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "run", metavar="RUN", type=Path, nargs="?", help="a run directory, or a folder of some"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="write the same as one HTML file"
    )
    arguments = parser.parse_args(argv)
    return finish(lambda: _answer(arguments))


def _answer(arguments: argparse.Namespace) -> int:
    let_waiting_threads_sleep()
    import torch
    from rich.console import Console

    from andrea_exp.lesson import page, record, terminal
    from andrea_exp.lesson.claim import Verdict
    from andrea_exp.lesson.claims import claims
    from andrea_exp.lesson.words import summary
    from andrea_exp.report.page import check_output, read, write
    from andrea_exp.report.table import table_of

    if arguments.output is not None:
        check_output(arguments.output)
    runs = None if arguments.run is None else table_of(read([arguments.run]))
    if runs is not None and not runs.completed:
        raise Refusal(
            f"{arguments.run} holds no completed run with results, which claims are read from; "
            "finish one, or leave it out"
        )
    torch.set_num_threads(1)  # nothing here is large enough to be worth a second one
    console = Console(highlight=False, quiet=arguments.json)
    found = []
    for claim in claims(runs):
        console.print(terminal.block(claim))
        found.append(claim)
    print(record.written(found) if arguments.json else summary(found))
    if arguments.output is not None:
        write(arguments.output, page.page(found, runs=runs))
    return FAILED if any(claim.verdict is Verdict.fails for claim in found) else DONE


if __name__ == "__main__":
    sys.exit(main())
