"""`bench*.json`: how fast the kernel backends were on a machine. Null: not known, never 0."""

import json
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final, Self, final

from andrea_exp.component import Refusal
from andrea_exp.record.layout import misfits
from andrea_exp.record.manifest import Platform
from andrea_exp.record.redact import redact

SCHEMA: Final = 1
"""Version of the layout below; it grows when a field changes its meaning, comes or goes."""
KIND: Final = "andrea_exp.bench"
"""By which a file of ours is known."""
_MOST_DIGITS: Final = 18
"""Of a whole number."""
PATTERN: Final = "bench*.json"
"""Names of the files that a report looks for."""


class Outcome(Enum):
    """What became of a backend; files hold the names."""

    timed = "it matches the reference, and was timed"
    differs = "it does not match the reference, so it was not timed"
    failed = "it raised an error"
    cannot = "it cannot run here"


@final
@dataclass(kw_only=True, frozen=True)
class Agreement:
    """The result that was off the most, in units of its limit."""

    result: str
    """The output, or the gradient of an input."""
    error: float | None
    """Largest deviation from float64; null where the result has no finite one."""
    limit: float
    sequences: int
    """At how many sequences of how many tokens it was found."""
    tokens: int


@final
@dataclass(kw_only=True, frozen=True)
class Pass:
    """The times of the forward pass, or of forward and backward in one go."""

    ms_median: float
    ms_q1: float
    ms_q3: float
    """Quartiles over the rounds."""
    ratio_to_torch: float | None
    """Median over the rounds: the time over that of `torch` in the same round; null without it."""
    ratio_q1: float | None
    ratio_q3: float | None
    moved_bytes: int
    """Least traffic that any implementation has."""
    gb_per_s: float
    """Least traffic over the median time, 10^9 bytes."""
    fraction_of_copy: float
    """The same over what a copy in memory reaches here; above 1 where caches hold the data."""
    tflop_per_s: float | None
    """Matrix products, 10^12 operations; null where there are none."""
    fraction_of_product: float | None
    """The same over what a large square product reaches here in this format."""
    peak_memory_bytes: int | None
    """Most that torch's allocator gave at once, beyond the inputs."""


@final
@dataclass(kw_only=True, frozen=True)
class Row:
    """One backend of one operation at one set of sizes."""

    operation: str
    backend: str
    runs_as: str | None
    """What computes; null if it cannot run here."""
    outcome: str
    """Name of an `Outcome`."""
    reasons: list[str]
    """Why it was not timed."""
    agreement: Agreement | None
    bits_repeat: bool | None
    """Whether a second run gave the same bits."""
    rounds: int | None
    forward: Pass | None
    forward_backward: Pass | None
    backward_ms_median: float | None
    """Median over the rounds of the difference of the two. Some backends do a part of the
    backward's work in their forward, so only the sum compares."""

    @property
    def wrong(self) -> bool:
        """Whether it could run here, and did not or not rightly."""
        return self.outcome in (Outcome.differs.name, Outcome.failed.name)


@final
@dataclass(kw_only=True, frozen=True)
class Block:
    """One set of sizes."""

    label: str
    """What tells it from the others of the sitting."""
    device: str
    """Name of the processor."""
    threads: int
    """Of torch on the CPU."""
    sequences: int
    tokens: int
    """Of a sequence."""
    width: int
    heads: int
    vocab: int
    precision: str
    """Of the matrix products."""
    biased: bool
    causal: bool
    dropout: float
    compiled: bool
    copy_gb_per_s: float
    """What a copy in memory reads and writes, 10^9 bytes."""
    product_tflop_per_s: float
    """Of a large square product in this precision."""
    rows: list[Row]

    def redacted(self) -> "Block":
        """The same, with home directory and secrets masked in the words of libraries."""
        rows = [replace(row, reasons=[redact(why) for why in row.reasons]) for row in self.rows]
        return replace(self, rows=rows)


@final
@dataclass(kw_only=True, frozen=True)
class Bench:
    """One sitting on one machine."""

    recorded_at: str
    """UTC, ISO 8601."""
    overrides: list[str]
    platform: Platform
    packages: dict[str, str]
    """Dependency, those of kernel backends among them -> version."""
    blocks: list[Block]

    @property
    def sound(self) -> bool:
        """Whether every backend that can run here matched the reference."""
        return not any(row.wrong for block in self.blocks for row in block.rows)

    def text(self) -> str:
        """The file's content; in words of people and libraries, home and secrets are masked."""
        told = replace(
            self,
            overrides=[redact(word) for word in self.overrides],
            blocks=[block.redacted() for block in self.blocks],
        )
        content = {"kind": KIND, "schema": SCHEMA, **asdict(told)}
        return json.dumps(content, indent=1, allow_nan=False) + "\n"

    @classmethod
    def parse(cls, text: str, *, source: str) -> Self:
        """What a file holds.

        Args:
            text: its content.
            source: its name, for messages.

        Raises:
            Refusal: it is no such record, or one of another schema.
        """
        content = _content(text)
        if content is None:
            raise Refusal(f"{source} is not a record of andrea_exp.bench")
        if content.get("schema") != SCHEMA:
            raise Refusal(
                f"{source} has schema {content.get('schema')}, this version of andrea_exp reads "
                f"{SCHEMA}; read it with the version that wrote it"
            )
        try:
            json.dumps(content, allow_nan=False, ensure_ascii=False).encode()
        except ValueError as error:
            raise Refusal(f"{source}: a value could not be written again ({error})") from error
        try:
            bench = _bench(content)
        except (KeyError, TypeError, AttributeError) as error:
            raise Refusal(f"{source}: a field does not have its layout ({error})") from error
        assert isinstance(bench, cls)
        if wrong := misfits(bench):
            raise Refusal(f"{source}: {', '.join(wrong)} do not have their layout")
        return bench


@final
@dataclass(kw_only=True, frozen=True)
class BenchFile:
    """A file that is called as those of bench are."""

    name: str
    """Without its folder."""
    bench: Bench | None
    """None if it cannot be read."""
    reason: str | None
    """Why not."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """The file, whatever it holds."""
        try:
            return cls(name=path.name, bench=read_bench(path), reason=None)
        except Refusal as refusal:
            reason = str(refusal).replace(str(path), path.name)
            return cls(name=path.name, bench=None, reason=reason)


def read_bench(path: Path) -> Bench:
    """The record in a file.

    Raises:
        Refusal: it cannot be read, is no such record, or one of another schema.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Refusal(f"{path} is not a record of andrea_exp.bench: {error}") from error
    return Bench.parse(text, source=str(path))


def is_bench(path: Path) -> bool:
    """Whether a file was written by andrea_exp.bench, in whatever version."""
    try:
        return _content(path.read_text(encoding="utf-8")) is not None
    except (OSError, ValueError):
        return False


def _content(text: str) -> dict[str, Any] | None:
    try:
        content = json.loads(text, parse_int=_number)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and content.get("kind") == KIND else None


def _number(digits: str) -> int | float:
    """An int that a float can hold; a longer one is a float, which fits no field of whole numbers.

    It is infinite where it is far too large.
    """
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _bench(content: dict[str, Any]) -> Bench:
    plain = {key: value for key, value in content.items() if key not in ("kind", "schema")}
    plain["platform"] = Platform(**plain["platform"])
    plain["blocks"] = [_block(block) for block in plain["blocks"]]
    return Bench(**plain)


def _block(block: dict[str, Any]) -> Block:
    block["rows"] = [_row(row) for row in block["rows"]]
    return Block(**block)


def _row(row: dict[str, Any]) -> Row:
    for name, part in {"agreement": Agreement, "forward": Pass, "forward_backward": Pass}.items():
        row[name] = None if row[name] is None else part(**row[name])
    if row["outcome"] not in Outcome.__members__:
        raise KeyError(f"outcome {row['outcome']}")
    return Row(**row)
