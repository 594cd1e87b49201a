"""`python -m andrea_exp.rank DIR RANK MEETING GPU`: a further process of the training of a run.

Started by the first process where `runtime.devices` is above 1, and by nobody else.
"""

import os
import sys
import threading
from pathlib import Path

from andrea_exp.command import finish, let_waiting_threads_sleep


def main() -> int:
    """Exit status: 0 when the training has ended, in whatever way; 76 if another process left."""
    directory, rank, meeting, gpu = sys.argv[1:]
    end_with_the_first()
    return finish(lambda: _train(Path(directory), int(rank), meeting=Path(meeting), gpu=int(gpu)))


def end_with_the_first() -> None:
    """End this process as soon as the one that started it has ended, in whatever way.

    Its standard input is a pipe into which nobody writes, and which breaks then.
    """

    def wait() -> None:
        os.read(sys.stdin.fileno(), 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _train(directory: Path, rank: int, *, meeting: Path, gpu: int) -> int:
    let_waiting_threads_sleep()
    from andrea_exp.record.directory import RunDirectory
    from andrea_exp.train.devices import use
    from andrea_exp.train.peers import LEFT
    from andrea_exp.train.ranks import NoAnswerError
    from andrea_exp.walk import Walk

    if gpu >= 0:
        use(gpu)
    try:
        Walk(RunDirectory.open(directory)).follow(rank=rank, meeting=meeting)
    except NoAnswerError:
        return LEFT
    return 0


if __name__ == "__main__":
    sys.exit(main())
