"""How a command ends: a refusal is one message and status 2, an interruption status 130."""

import os
import sys
from collections.abc import Callable

from andrea_exp.component import Refusal

DONE, FAILED, REFUSED, PREEMPTED, INTERRUPTED = 0, 1, 2, 75, 130


def let_waiting_threads_sleep() -> None:
    """Before torch is imported: its threads sleep while they wait, and do not spin.

    On a machine that also does other work, spinning threads take the cores that the others wait
    for; a training step took three times as long there. A value that the user has set is kept.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def finish(command: Callable[[], int]) -> int:
    """The exit status of a command."""
    try:
        status = command()
        sys.stdout.flush()
    except Refusal as refusal:
        print(f"andrea_exp: {refusal}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:
        # Whoever read the output has left; nothing more may be written, at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        print("andrea_exp: interrupted", file=sys.stderr)
        return INTERRUPTED
    return status
