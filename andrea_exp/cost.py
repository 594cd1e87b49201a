"""`python -m andrea_exp.cost [overrides] [--json]`: what a composition costs; nothing is built."""

import argparse
import json
import sys
from collections.abc import Sequence

from andrea_exp.command import DONE, finish


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, or 2 for a wrong request."""
    parser = argparse.ArgumentParser(prog="python -m andrea_exp.cost", description=__doc__)
    parser.add_argument("overrides", nargs="*", help="group=option or key=value, as for training")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_intermixed_args(argv)
    return finish(lambda: _answer(arguments.overrides, as_json=arguments.json))


def _answer(overrides: Sequence[str], *, as_json: bool) -> int:
    from dataclasses import asdict

    from rich.console import Console

    from andrea_exp.assemble import Run
    from andrea_exp.config.request import request
    from andrea_exp.evaluate.ledger import ledger
    from andrea_exp.report import terminal

    asked = request(overrides)
    if open_keys := [key for key in asked.composed.grid if not asked.composed.speaks_of(key)]:
        keys = " and ".join(open_keys)
        print(
            f"andrea_exp: the grid over {keys} is left out: give a value of each", file=sys.stderr
        )
    run = Run(asked.config)
    model = run.build_model(allocate=False)
    counted = ledger(
        model,
        nominal=run.recipe.model.nominal_parameters,
        moments=run.recipe.optimizer.moments,
    )
    if as_json:
        print(json.dumps(asdict(counted), indent=2))
    else:
        title = f"cost {' '.join(overrides)}".strip()
        Console(highlight=False).print(terminal.ledger(asdict(counted), title=title))
    return DONE


if __name__ == "__main__":
    sys.exit(main())
