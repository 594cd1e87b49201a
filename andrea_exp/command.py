"""How a command ends: a refusal is one message and status 2, an interruption status 130."""

import sys
from collections.abc import Callable

from andrea_exp.component import Refusal

DONE, FAILED, REFUSED, PREEMPTED, INTERRUPTED = 0, 1, 2, 75, 130


def finish(command: Callable[[], int]) -> int:
    """The exit status of a command."""
    try:
        return command()
    except Refusal as refusal:
        print(f"andrea_exp: {refusal}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print("andrea_exp: interrupted", file=sys.stderr)
        return INTERRUPTED
