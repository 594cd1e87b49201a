"""A run without what tells who made it and where; what was measured stays."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from andrea_exp.claims.registration import claims_hash
from andrea_exp.record.bench import Bench, BenchFile, Block
from andrea_exp.record.manifest import Failure, Manifest
from andrea_exp.record.reader import RunRecord, Survey, UnreadableRun

WITHHELD = "(withheld)"
CHOSEN_BY_PEOPLE = ("name", "outputs", "question", "logger", "hydra")
"""Keys, and groups of keys, whose values are anybody's own words: no part of a recipe."""

_OF_FILES = re.compile(r"(?:\b|_)(?:path|files)$")
_PLACE = re.compile(
    r"(?:\w+://|[\w.+-]+@[\w.-]+|(?<![\w.)])(?:~|\.\.?)?/(?=[\w.])|(?<!\w)~(?=[A-Za-z])|(?<!\w)\\\\"
    r"|\b[A-Za-z]:\\)[^\s\"'<>,;)\]]*"
)
"""In a sentence: an address, an account at a host, or a path from a root, home or drive on."""


def anonymous(found: Survey) -> Survey:
    """The runs without commit, names of folders, paths, accounts and the words of errors.

    Recipe, seed, versions, kind of processor and all numbers stay, and so do claims, without the
    places that they name. A directory is called after the recipe's hash.
    """
    return Survey(
        [_record(record) for record in found.records],
        [UnreadableRun(path=Path(), name=WITHHELD, reason=WITHHELD) for _ in found.unreadable],
        [_bench_file(file, number) for number, file in enumerate(found.benches, start=1)],
    )


def _bench_file(file: BenchFile, number: int) -> BenchFile:
    return BenchFile(
        name=f"bench {number}",
        bench=file.bench and _bench(file.bench),
        reason=file.reason and WITHHELD,
    )


def _bench(bench: Bench) -> Bench:
    """Processor, versions and numbers stay; the system's release may name a host."""
    return replace(
        bench,
        overrides=_words(bench.overrides),
        platform=replace(bench.platform, system=WITHHELD),
        blocks=[_block(block) for block in bench.blocks],
    )


def _block(block: Block) -> Block:
    rows = [
        replace(row, reasons=[WITHHELD] if row.wrong else [*map(_told, row.reasons)])
        for row in block.rows
    ]
    return replace(block, label=" ".join(_words(block.label.split(" "))), rows=rows)


def _record(record: RunRecord) -> RunRecord:
    config = {
        key: _told(value) if key == "claims" else _value(key, value)
        for key, value in record.config.items()
        if key not in CHOSEN_BY_PEOPLE
    }
    return replace(
        record,
        path=Path(),
        name=record.recipe_hash,
        claims_hash=_hash_of_told(record, config),
        config=config,
        manifest=_manifest(record.manifest),
    )


def _manifest(manifest: Manifest) -> Manifest:
    failure = manifest.failure
    return replace(
        manifest,
        argv=_words(manifest.argv),
        overrides=_words(manifest.overrides),
        git=None,
        wandb=None,
        failure=failure and Failure(type=failure.type, message=WITHHELD),
    )


def _hash_of_told(record: RunRecord, config: Mapping[str, Any]) -> str | None:
    """That of the claims as they are told, unless those of the run do not have theirs."""
    before, after = (
        claims_hash({key: values.get(key) or [] for key in ("seeds", "claims")})
        for values in (record.config, config)
    )
    return after if before == record.claims_hash else record.claims_hash


def _told(value: Any) -> Any:
    """People's sentences, in which places are withheld."""
    if isinstance(value, Mapping):
        return {key: _told(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_told(inner) for inner in value]
    return _PLACE.sub(WITHHELD, value) if isinstance(value, str) else value


def _words(words: Sequence[str]) -> list[str]:
    """Words of a command, but for those whose key is people's own."""
    return [_override(word) for word in words if _root(word) not in CHOSEN_BY_PEOPLE]


def _root(word: str) -> str:
    """The first part of an override's key: `logger` of `logger.project=x` and `logger=wandb`."""
    return re.split(r"[=./@]", word.lstrip("+~"), maxsplit=1)[0]


def _override(word: str) -> str:
    """An override, or another word; a path in it is withheld, while a key may have slashes."""
    key, sign, value = word.partition("=")
    return f"{key}{sign}{_value(key, value)}" if sign else _PLACE.sub(WITHHELD, word)


def _value(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {inner: _value(inner, each) for inner, each in value.items()}
    if isinstance(value, list):
        return [_value(key, inner) for inner in value]
    if not isinstance(value, str) or not value:
        return value
    names_a_file = _OF_FILES.search(key) or any(sign in value for sign in "/\\~")
    return WITHHELD if names_a_file else value
