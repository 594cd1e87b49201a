"""What one run was, on what it ran and how it ended: the content of `manifest.json`."""

import json
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Self, final

from andrea_exp.component import Refusal
from andrea_exp.record.layout import misfits
from andrea_exp.record.redact import redacted

SCHEMA = 1
"""Version of the layout below; it grows when a field changes its meaning, comes or goes."""

_FREE_TEXT = ("argv", "overrides", "failure")
"""Fields with words of people or of libraries."""


class Status(Enum):
    """Where a run stands; files hold the names."""

    pending = "frozen, not started"
    running = "being executed"
    completed = "trained and evaluated"
    failed = "stopped by an error"
    interrupted = "stopped by a person, or killed"
    preempted = "stopped by a scheduler, to be resumed"
    nan = "stopped at the first loss that is not finite"


@final
@dataclass(kw_only=True, frozen=True)
class Git:
    """The checkout that the program came from."""

    sha: str
    """Commit, 40 hexadecimal digits."""
    dirty: bool
    """Whether files differed from that commit, new ones included."""
    patch: str | None
    """Name of the file in the run directory with the difference; null if tracked files had none."""


@final
@dataclass(kw_only=True, frozen=True)
class Platform:
    """The machine's software."""

    system: str
    """Operating system and release."""
    machine: str
    """Architecture of the processor."""
    python: str
    """Version of Python."""


@final
@dataclass(kw_only=True, frozen=True)
class DataIdentity:
    """The tokens that the run trained on."""

    name: str
    """Option of the group `data`."""
    fingerprint: str
    """Hash of every token, their order and the tokenizer."""
    tokens: int | None
    """Distinct training tokens; null if they never repeat."""


@final
@dataclass(kw_only=True, frozen=True)
class LogIdentity:
    """The run as the service behind the group `logger` knows it."""

    id: str | None
    """Identifier, kept across resumes; null if there is none."""
    mode: str
    """How it was reached, in words that name a failure: `online (unreachable)`."""
    directory: str | None
    """Its files, relative to the run directory."""


@final
@dataclass(kw_only=True, frozen=True)
class Failure:
    """What stopped a run."""

    type: str
    """Class of the error."""
    message: str
    """Its text, without the traceback, which `run.log` has."""


@final
@dataclass(kw_only=True, frozen=True)
class Manifest:
    """One run. A field is null until it is known; `dataclasses.replace` makes the next version."""

    status: Status
    seed: int
    argv: list[str]
    """The command that froze the run."""
    overrides: list[str]
    """Its Hydra overrides."""
    choices: dict[str, str]
    """Group -> option."""
    started_at: str | None
    """First start, UTC, ISO 8601."""
    ended_at: str | None
    """Last end, UTC, ISO 8601."""
    git: Git | None
    """Null without git, or outside a checkout."""
    packages: dict[str, str] | None
    """Dependency, those of kernel backends among them -> version."""
    platform: Platform | None
    device: str | None
    """Name of the processor that trained."""
    threads: int | None
    """Threads of torch on the CPU."""
    kernel: dict[str, str] | None
    """Operation -> backend that ran."""
    data: DataIdentity | None
    deterministic: bool | None
    """Whether every operation that ran promises equal bits on equal input."""
    wandb: LogIdentity | None
    failure: Failure | None

    @classmethod
    def pending(
        cls, *, seed: int, argv: list[str], overrides: list[str], choices: dict[str, str]
    ) -> Self:
        """A run that is frozen and has not started."""
        return cls(
            status=Status.pending,
            seed=seed,
            argv=argv,
            overrides=overrides,
            choices=choices,
            started_at=None,
            ended_at=None,
            git=None,
            packages=None,
            platform=None,
            device=None,
            threads=None,
            kernel=None,
            data=None,
            deterministic=None,
            wandb=None,
            failure=None,
        )

    def text(self) -> str:
        """The file's content: sorted keys; in free text, home directory as `~`, secrets masked.

        What comes out of a list of this program's, such as the status, is never masked, though the
        value of some variable that is named like a secret may be the same word.
        """
        content = {"schema": SCHEMA, **asdict(self), "status": self.status.name}
        content |= redacted({name: content[name] for name in _FREE_TEXT})
        return json.dumps(content, indent=2, sort_keys=True, allow_nan=False) + "\n"

    @classmethod
    def parse(cls, text: str, *, source: str) -> Self:
        """The manifest that a file holds.

        Args:
            text: its content.
            source: its name, for messages.

        Raises:
            Refusal: it is not a manifest, or one of another schema.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Refusal(f"{source} is not JSON: {error}") from error
        schema = content.get("schema") if isinstance(content, dict) else None
        if schema != SCHEMA:
            raise Refusal(
                f"{source} has schema {schema}, this version of andrea_exp reads {SCHEMA}; "
                "read it with the version that wrote it"
            )
        expected = {"schema"} | {field.name for field in fields(cls)}
        if differing := sorted(expected ^ set(content)):
            raise Refusal(f"{source}: missing or unknown fields {', '.join(differing)}")
        try:
            manifest = cls(**_typed(content))
        except (KeyError, TypeError) as error:
            raise Refusal(f"{source}: a field does not have its layout ({error})") from error
        if wrong := misfits(manifest):
            raise Refusal(f"{source}: {', '.join(wrong)} do not have their layout")
        return manifest


def _typed(content: dict[str, Any]) -> dict[str, Any]:
    """The fields of a manifest, with its parts as dataclasses."""
    parts = {
        "git": Git,
        "platform": Platform,
        "data": DataIdentity,
        "wandb": LogIdentity,
        "failure": Failure,
    }
    built = {
        name: None if content[name] is None else part(**content[name])
        for name, part in parts.items()
    }
    plain = {name: value for name, value in content.items() if name != "schema"}
    return {**plain, **built, "status": Status[content["status"]]}


def utc_now() -> str:
    """This moment, as manifests write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
