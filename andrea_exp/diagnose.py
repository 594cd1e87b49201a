"""`python -m andrea_exp.diagnose FILE [--tensor NAME]`: how smooth the rows of any table are.

FILE is a run directory, a file of safetensors, or one of PyTorch, whose code is never run. Of a run
directory, `--neighbours TEXT` tells the nearest neighbours of a token instead.
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
    parser.add_argument(
        "--neighbours",
        metavar="TEXT",
        help="the tokens with the most similar rows to this one's, in a run directory",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random controls")
    parser.add_argument("--shuffles", type=int, default=200, metavar="N", help="random orders")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args(argv)
    answer = _panel if arguments.neighbours is None else _neighbours
    return finish(lambda: answer(arguments))


def _panel(arguments: argparse.Namespace) -> int:
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


def _neighbours(arguments: argparse.Namespace) -> int:
    import json
    from dataclasses import asdict

    from rich.console import Console

    from andrea_exp.assemble import Run
    from andrea_exp.component import Refusal
    from andrea_exp.config.frozen import thaw
    from andrea_exp.data.naming import label_of, token_of
    from andrea_exp.evaluate.nearest import neighbours, token_tables
    from andrea_exp.record.directory import RunDirectory
    from andrea_exp.record.weights import load_weights
    from andrea_exp.report import terminal

    if arguments.tensor is not None or arguments.rows is not None:
        raise Refusal("--neighbours reads the token tables; leave out --tensor and --rows")
    directory = RunDirectory.open(arguments.file)
    run = Run(thaw(directory.config()))
    data = run.load_data()
    try:
        token = token_of(data, arguments.neighbours)
    except ValueError as error:
        raise Refusal(f"--neighbours: {error}") from error
    model = run.build_model(vocab=data.vocab, allocate=False)
    load_weights(model, directory.model_file)
    count = run.recipe.evaluation.neighbours
    found = {
        name: [asdict(each) for each in neighbours(rows, token, count=count, data=data)]
        for name, rows in token_tables(model).items()
    }
    if arguments.json:
        print(json.dumps({"token": label_of(data, token), **found}))
        return DONE
    Console(highlight=False).print(terminal.neighbours(label_of(data, token), found))
    return DONE


if __name__ == "__main__":
    sys.exit(main())
