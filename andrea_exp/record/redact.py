"""What is taken out of every text that a run writes: the home directory, and keys and tokens."""

import os
import re
from collections.abc import Mapping

MASK = "***"
"""What stands in the place of a secret."""

_SECRET_NAME = r"(?:api|access|private|secret)[_-]?key|token|secret|password|passwd|credentials?"
_SECRET_VARIABLE = re.compile(rf"(?:.*[_-])?(?:{_SECRET_NAME})", re.IGNORECASE)
_ASSIGNMENT = re.compile(
    rf"(?<![A-Za-z0-9])(?P<name>{_SECRET_NAME})(?P<sign>[\"']?[ \t]*[=:][ \t]*)"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"',;&}\])]+)",
    re.IGNORECASE,
)
# The shapes in which well-known services issue keys, and a password inside an address.
_ISSUED = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_\w{20,}|glpat-[\w-]{20,}|wandb_v\d+_\w{20,}|AKIA[0-9A-Z]{16}"
    r"|xox[abprs]-[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+)"
)
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")
_SHORTEST_SECRET = 8


def redact(text: str) -> str:
    """A command, setting or message: home directory as `~`, everything like a secret masked.

    Masked are the value in `api_key=value` and its like (`token`, `secret`, `password` ... as the
    last word of a name, so `tokenizer=` and `batch_tokens=` stay), and what `redact_source` masks.
    """
    return redact_source(_ASSIGNMENT.sub(rf"\g<name>\g<sign>{MASK}", text))


def redact_source(text: str) -> str:
    """A piece of a program, in which `token = next(ids)` is no secret and stays.

    Masked are keys in the shapes that common services issue, passwords inside addresses, and the
    values of environment variables that are named like secrets, wherever they occur. A bare run of
    hexadecimal digits stays: it may be a commit.
    """
    for value in _secrets_of_environment():
        text = text.replace(value, MASK)
    text = _IN_ADDRESS.sub(MASK, _ISSUED.sub(MASK, text))
    for home in _homes():
        text = re.sub(rf"(?<![\w.~-]){re.escape(home)}(?![\w.-])", "~", text)
    return text


def redacted(content: Mapping[str, object]) -> dict[str, object]:
    """A copy of nested mappings and lists in which every text is redacted, keys included.

    A text under a key that is named like a secret is masked whole.
    """
    return {redact(key): _masked(key, inner) for key, inner in content.items()}


def _masked(key: str, value: object) -> object:
    secret = _SECRET_VARIABLE.fullmatch(key) is not None
    return MASK if secret and isinstance(value, str) else _clean(value)


def _clean(value: object) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return redacted({str(key): inner for key, inner in value.items()})
    if isinstance(value, list | tuple):
        return [_clean(inner) for inner in value]
    return value


def _secrets_of_environment() -> list[str]:
    """Values of the variables that are named like secrets, the longest first."""
    found = {
        value
        for name, value in os.environ.items()
        if len(value) >= _SHORTEST_SECRET and _SECRET_VARIABLE.fullmatch(name)
    }
    return sorted(found, key=len, reverse=True)


def _homes() -> list[str]:
    """The home directory as it is called and as it resolves; none where it is unknown or `/`."""
    home = os.path.expanduser("~").rstrip("/")  # noqa: PTH111 -- Path.home() raises without a home
    if not home.startswith("/"):
        return []
    return sorted({home, os.path.realpath(home)} - {"/"}, key=len, reverse=True)
