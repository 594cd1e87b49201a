"""The run directory: frozen once and whole, used by one process at a time, read by anybody."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

from andrea_exp.atomic import remove_drafts, write_atomically
from andrea_exp.component import Refusal
from andrea_exp.lock import exclusive, holder, is_locked
from andrea_exp.record.frozen import FrozenConfig
from andrea_exp.record.manifest import Manifest, Status
from andrea_exp.record.new_directory import make_whole

CONFIG = "config.yaml"
MANIFEST = "manifest.json"
PATCH = "git.patch"


@final
@dataclass(frozen=True)
class RunDirectory:
    """One run's place on the disk, which knows the names in it."""

    path: Path

    @classmethod
    def create(
        cls, parent: Path, job: str, *, files: Mapping[str, str], unique: bool = False
    ) -> Self:
        """Make `parent/job` with these files: at once, on the disk, or not at all.

        Args:
            parent: is made if need be.
            job: name of the directory.
            files: name -> content, `config.yaml` and `manifest.json` among them.
            unique: if the name is taken, take `job-2`, `job-3` ... instead, each for one caller
                alone, however many ask at once.

        Raises:
            FileExistsError: the name is taken, by whatever it may be.
            Refusal: the folder cannot be written.
        """
        if not job or job != Path(job).name or job.startswith("."):
            raise ValueError(f"a job's name is one visible name in its folder, got {job!r}")
        if missing := {CONFIG, MANIFEST} - set(files):
            raise ValueError(f"a run directory starts with {', '.join(sorted(missing))}")
        return cls(make_whole(parent, job, files=files, unique=unique))

    @classmethod
    def open(cls, path: Path) -> Self:
        """An existing run directory.

        Raises:
            Refusal: it is not one.
        """
        if not cls.is_one(path):
            reason = "lacks config.yaml or manifest.json" if path.is_dir() else "is not a folder"
            raise Refusal(
                f"{path} is not a run directory of andrea_exp: it {reason}; "
                "give one that `python -m andrea_exp` has made"
            )
        return cls(path)

    @staticmethod
    def is_one(path: Path) -> bool:
        """Whether a path is a run directory, by the two files that each has from its start."""
        return (path / CONFIG).is_file() and (path / MANIFEST).is_file()

    @classmethod
    def was_one(cls, path: Path) -> bool:
        """Whether a run was executed there, though one of the two files is gone."""
        left = (path / CONFIG).is_file() or (path / MANIFEST).is_file()
        return left and cls(path)._lock_file.is_file()

    @contextmanager
    def lock(self) -> Generator[None]:
        """Use the directory alone. It is free again when the block, or the process, ends.

        What a killed holder had half written is removed.

        Raises:
            Refusal: it is in use; the message names the process and the host.
        """
        with exclusive(self._lock_file):
            for file in (self.manifest_file, self.results_file, self.model_file, self.patch_file):
                remove_drafts(file)
            yield

    def is_locked(self) -> bool:
        """Whether some process, this one included, uses the directory. Disturbs nobody."""
        return is_locked(self._lock_file)

    def holder(self) -> int | None:
        """The process of this machine, another than this one, that uses the directory."""
        return holder(self._lock_file)

    def manifest(self) -> Manifest:
        """The manifest as it stands.

        Raises:
            Refusal: it is not one, or of another schema.
        """
        return Manifest.parse(_text(self.manifest_file), source=str(self.manifest_file))

    def config(self) -> FrozenConfig:
        """The frozen configuration.

        Raises:
            Refusal: it is not one, or of another schema.
        """
        return FrozenConfig.parse(_text(self.config_file), source=str(self.config_file))

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest in one step; for the holder of the lock."""
        write_atomically(self.manifest_file, manifest.text())

    def shown_status(self) -> Status:
        """The status as people are told it: a run that nobody executes any more is interrupted."""
        status = self.manifest().status
        if status is Status.running and not self.is_locked():
            status = self.manifest().status  # it may have ended between the two looks
            return Status.interrupted if status is Status.running else status
        return status

    def is_finished(self) -> bool:
        """Whether the run came to its end: it diverged, or it completed and its results are there.

        Where they were removed, executing it again measures what it has trained.
        """
        status = self.shown_status()
        return status is Status.nan or (status is Status.completed and self.results_file.exists())

    @property
    def config_file(self) -> Path:
        """The frozen configuration."""
        return self.path / CONFIG

    @property
    def manifest_file(self) -> Path:
        """What the run was and how it ended."""
        return self.path / MANIFEST

    @property
    def metrics_file(self) -> Path:
        """One line per logged step."""
        return self.path / "metrics.jsonl"

    @property
    def results_file(self) -> Path:
        """What was measured after training."""
        return self.path / "results.json"

    @property
    def model_file(self) -> Path:
        """Final weights."""
        return self.path / "model.safetensors"

    @property
    def checkpoints(self) -> Path:
        """Folder of resumable states."""
        return self.path / "checkpoints"

    @property
    def report_file(self) -> Path:
        """The report of a single run."""
        return self.path / "report.html"

    @property
    def log_file(self) -> Path:
        """What the run said, and the traceback of a failure."""
        return self.path / "run.log"

    @property
    def submission_file(self) -> Path:
        """The job of a scheduler that the run was given to."""
        return self.path / "submission.json"

    @property
    def patch_file(self) -> Path:
        """Difference of the program from its commit."""
        return self.path / PATCH

    @property
    def wandb_folder(self) -> Path:
        """What W&B writes."""
        return self.path / "wandb"

    @property
    def _lock_file(self) -> Path:
        return self.path / ".lock"


def _text(path: Path) -> str:
    """The content of a file.

    Raises:
        Refusal: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Refusal(f"{path} is damaged: byte {error.start} is not UTF-8") from error
