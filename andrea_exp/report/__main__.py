"""`python -m andrea_exp.report DIR...`: the report of the runs in these folders."""

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from andrea_exp.command import DONE, finish


def main(arguments: Sequence[str] | None = None) -> int:
    """Build a report, or its picture, and print where it is.

    Returns:
        Exit status: 0 done, 1 there is no room for it, 2 the request was wrong.
    """
    asked = _parser().parse_args(arguments)
    return finish(lambda: _answer(asked))


def _answer(asked: argparse.Namespace) -> int:
    print(_made(asked))
    return DONE


def _made(asked: argparse.Namespace) -> Path:
    from andrea_exp.report.anonymous import anonymous
    from andrea_exp.report.page import drawn, page, read, write
    from andrea_exp.report.picture import picture

    found = read(asked.directories)
    if asked.anonymous:
        found = anonymous(found)
    if asked.picture is not None:
        write(asked.picture, drawn(found, picture))
        return asked.picture
    if asked.keep is not None:
        from andrea_exp.report.keep import keep

        return keep(found, folder=asked.keep)
    output = asked.output or _beside(asked.directories)
    write(output, page(found))
    return output


def _beside(directories: Sequence[Path]) -> Path:
    """In the folder itself if there is one, else in the current one."""
    return (directories[0] if len(directories) == 1 else Path()) / "report.html"


def _named(text: str) -> Path:
    """A path that was written down: nothing would stand for the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty; name a folder, or . for this one")
    return Path(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m andrea_exp.report",
        description="One HTML file, which needs nothing else, for one run or many. The same run "
        "directories give the same bytes.",
    )
    parser.add_argument(
        "directories",
        metavar="DIR",
        type=Path,
        nargs="+",
        help="a run directory, or a folder that holds some, such as a sweep",
    )
    written = parser.add_mutually_exclusive_group()
    written.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        help="the file to write; default: report.html in DIR, or here if there are several",
    )
    parser.add_argument(
        "--anonymous",
        action="store_true",
        help="leave out commits, names of folders, paths and the words of errors",
    )
    written.add_argument(
        "--keep",
        metavar="FOLDER",
        type=_named,
        help="write what is worth keeping of an experiment into a folder: its page, a table of its "
        "runs, its verdicts, and the records of andrea_exp.bench beside them",
    )
    written.add_argument(
        "--picture",
        metavar="FILE",
        type=Path,
        help="write one SVG picture, loss against length, in place of the report",
    )
    return parser


if __name__ == "__main__":
    gc.disable()  # a report reads a million small objects, of which none is garbage before its end
    sys.exit(main())
