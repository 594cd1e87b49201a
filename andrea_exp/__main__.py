"""`python -m andrea_exp`: one run, or with -m a sweep. torch is imported only where it must."""

import argparse
import sys
from collections.abc import Sequence

from andrea_exp.command import finish, let_waiting_threads_sleep
from andrea_exp.component import Refusal

OF_SWEEPS = ("hydra/launcher", "hydra.launcher", "hydra/sweeper", "hydra.sweeper", "sweep.")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, 1 a run failed, 2 wrong request, 75 preempted, 130 interrupted."""
    words = list(sys.argv[1:] if argv is None else argv)
    return finish(lambda: _answer(words))


def _answer(words: list[str]) -> int:
    arguments = _parser().parse_intermixed_args(words)
    if arguments.help:
        from andrea_exp.config.help import page

        print(page())
        return 0
    if arguments.cfg or arguments.info or arguments.shell_completion:
        return _hydra_itself(arguments.overrides, words)
    let_waiting_threads_sleep()
    if arguments.multirun:
        from andrea_exp.sweep.run import run_sweep

        return run_sweep(arguments.overrides)
    return _run_one(arguments.overrides)


def _run_one(overrides: list[str]) -> int:
    from andrea_exp.config.compose import compose

    for word in overrides:
        if word.lstrip("+~").startswith(OF_SWEEPS):
            raise Refusal(f"{word} is of use in a sweep alone: add -m, or leave it out")
    composed = compose(overrides)
    if composed.grid:
        keys = " and ".join(composed.grid)
        experiment = composed.choices["experiment"]
        asked = f"experiment={experiment}" if experiment else f"seeds={composed.values['seeds']}"
        raise Refusal(f"{asked} is a grid over {keys}: add -m to run it as a sweep")
    from andrea_exp.config.request import typed
    from andrea_exp.execution import execute_single
    from andrea_exp.freeze import freeze_single, resumable

    request = typed(composed)
    resume = request.config.running.resume
    directory = resumable(request) if resume else freeze_single(request)
    print(directory.path, flush=True)
    return execute_single(directory.path)


def _hydra_itself(overrides: list[str], words: list[str]) -> int:
    """Hydra's own views of the configuration, and its shell completion."""
    from hydra import main as hydra_main

    from andrea_exp.config.catalogue import ROOT_FILE, conf_directory
    from andrea_exp.config.compose import compose, own_launchers

    compose(overrides)
    sys.argv[1:] = words
    show = hydra_main(config_path=str(conf_directory()), config_name=ROOT_FILE, version_base="1.3")
    with own_launchers():
        show(_nothing)()
    return 0


def _nothing(config: object) -> None:
    """Hydra's entry point needs a task; its views never call it."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m andrea_exp", add_help=False, allow_abbrev=False
    )
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("-c", "--cfg", choices=["job", "hydra", "all"])
    parser.add_argument("-p", "--package")
    parser.add_argument("--resolve", action="store_true")
    parser.add_argument("-i", "--info", nargs="?", const="all")
    parser.add_argument("-sc", "--shell-completion", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
