"""Times of single steps and of the whole training."""

import statistics
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import final


@final
class Stopwatch:
    """Measures steps between `start` and `lap`, so that what lies outside does not count."""

    def __init__(self) -> None:
        self._laps: list[float] = []
        self._tokens: list[int] = []
        self._begun = self._started = time.perf_counter()
        self._before = 0.0

    def resume(self, elapsed_s: float) -> None:
        """Go on with a training that had `elapsed_s` seconds in earlier processes."""
        self._before = elapsed_s

    def start(self) -> None:
        """Begin a step."""
        self._started = time.perf_counter()

    def lap(self, *, tokens: int) -> None:
        """End a step."""
        self._laps.append(time.perf_counter() - self._started)
        self._tokens.append(tokens)

    @contextmanager
    def stopped(self) -> Generator[None]:
        """What is done in the block takes no time of the training; not to be used inside a step."""
        stopped = time.perf_counter()
        yield
        self._begun += time.perf_counter() - stopped

    @property
    def elapsed_s(self) -> float:
        """Training time so far, that before a resume included."""
        return self._before + time.perf_counter() - self._begun

    @property
    def first_step_s(self) -> float | None:
        """Time of the first step of this process."""
        return self._laps[0] if self._laps else None

    @property
    def step_ms_median(self) -> float | None:
        """Median time of its later steps."""
        later = self._laps[1:]
        return 1e3 * statistics.median(later) if later else None

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens of its later steps over their time."""
        later = self._laps[1:]
        return sum(self._tokens[1:]) / sum(later) if later else None
