"""`python -m andrea_exp.diagnose FILE [--tensor NAME]`: how smooth the rows of any table are.

FILE is a run directory, a file of safetensors, or one of PyTorch, whose code is never run.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from andrea_exp.command import DONE, finish


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, or 2 for a wrong request."""
    parser = argparse.ArgumentParser(
        prog="python -m andrea_exp.diagnose",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, help="a file of weights, or a run directory")
    parser.add_argument("--tensor", metavar="NAME", help="which table, if the file has several")
    parser.add_argument("--rows", type=int, metavar="N", help="only the first N rows")
    parser.add_argument("--seed", type=int, default=0, help="of the random controls")
    parser.add_argument("--shuffles", type=int, default=200, metavar="N", help="random orders")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args(argv)
    return finish(lambda: _answer(arguments))


def _answer(arguments: argparse.Namespace) -> int:
    import json
    from dataclasses import asdict

    from rich.console import Console

    from andrea_exp.component import Refusal
    from andrea_exp.evaluate.controls import controls
    from andrea_exp.evaluate.panel import panel
    from andrea_exp.evaluate.permutation import permutation
    from andrea_exp.record.directory import RunDirectory
    from andrea_exp.record.weights import WeightsFile
    from andrea_exp.report import terminal

    path, rows = arguments.file, arguments.rows
    if path.is_dir():
        run = RunDirectory.open(path)
        path = run.model_file
        trained = run.config().config["model"]["context"]
        rows = trained if rows is None else rows  # later rows were never trained
    name, table = WeightsFile(path).table(arguments.tensor)
    if arguments.shuffles < 1:
        raise Refusal(f"--shuffles {arguments.shuffles}: a null needs at least 1 random order")
    if rows is not None and rows < 3:
        raise Refusal(f"--rows {rows}: a panel needs at least 3 rows")
    table = table[:rows]
    if not table.isfinite().all():
        raise Refusal(f"{path}: {name} has numbers that are not finite")
    measured = asdict(panel(table))
    beside = asdict(controls(table, seed=arguments.seed))
    null = asdict(permutation(table, shuffles=arguments.shuffles, seed=arguments.seed))
    if arguments.json:
        found = {"panel": measured, "controls": beside, "permutation": null}
        print(json.dumps({"tensor": name, "shape": list(table.shape), **found}))
        return DONE
    print(f"{name} of {path}: {table.shape[0]} rows of {table.shape[1]}\n")
    console = Console(highlight=False)
    console.print(terminal.panels("", {"these rows": measured}, beside))
    console.print(terminal.order(measured, beside, null))
    return DONE


if __name__ == "__main__":
    sys.exit(main())
