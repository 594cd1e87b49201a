"""`submission.json`: the job of a scheduler that a run directory was given to."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self, final

from andrea_exp.atomic import write_atomically
from andrea_exp.component import Refusal
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.layout import misfits

SCHEMA = 1
"""Version of the layout of `submission.json`."""


@final
@dataclass(kw_only=True, frozen=True)
class Submission:
    """The newest job that will execute, or has executed, a run directory."""

    launcher: str
    """Option of `hydra/launcher`."""
    job_id: str
    """As the scheduler writes it, with the index in an array: `123_4`."""
    submitted_at: str
    """UTC, ISO 8601."""
    log: str
    """What the job said before, around and after the run; relative to the run directory."""

    def write(self, run: RunDirectory) -> None:
        """Leave it with the run, in the place of an earlier one."""
        content = {"schema": SCHEMA, **asdict(self)}
        text = json.dumps(content, indent=2, sort_keys=True) + "\n"
        write_atomically(run.submission_file, text)

    @classmethod
    def of(cls, run: RunDirectory) -> Self | None:
        """The submission of a run; None if it was never given to a scheduler.

        Raises:
            Refusal: the file is not one, or of another schema.
        """
        file = run.submission_file
        if not file.exists():
            return None
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            if content.pop("schema") != SCHEMA:
                raise ValueError("another schema")
            submission = cls(**content)
            if wrong := misfits(submission):
                raise ValueError(f"wrong type of {', '.join(wrong)}")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refusal(
                f"{file} cannot be read ({error}); without it the job of this run is not known to "
                "Slurm's queue: end that job, remove the file, and submit again"
            ) from error
        return submission

    def log_file(self, run: RunDirectory) -> Path:
        """Where the log of the job lies, as seen from here."""
        return Path(os.path.normpath(run.path / self.log))
