"""What is wrong with a command line, in one line, where Hydra's own words would not help."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hydra import compose as hydra_compose
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, ValueType
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from andrea_exp.config.catalogue import ROOT_FILE, description, groups, nearest, owners

_NOT_HERE = ("use +", "See http", "object_type=")
_QUOTING = "; quote a value with other letters than a to z twice: \"name='été'\""


def refuse_other_keys(overrides: Sequence[str]) -> None:
    """Every key is in `conf/` and stays, and a group is given the name of one option.

    Hydra lets words add and delete keys, move groups, and change the module behind an option.

    Raises:
        HydraException: a word would do that.
    """
    for word in OverridesParser.create().parse_overrides(list(overrides)):
        own = not word.is_hydra_override()
        if _elsewhere(word) or (own and (_misuse(word) or any(_foreign(word)))):
            raise HydraException(f"cannot use {word.input_line}")


def explain(error: Exception, overrides: Sequence[str], *, in_sweep: bool = False) -> str:
    """The first complaint about these words, or else Hydra's own. Call inside `hydra_ready`."""
    try:
        words = OverridesParser.create().parse_overrides(list(overrides))
    except HydraException as unread:
        said = f"cannot read the command line: {_one_line(unread)}"
        return said if all(word.isascii() for word in overrides) else said + _QUOTING
    return next(_complaints(words, in_sweep=in_sweep), _one_line(error))


def _complaints(words: Sequence[Override], *, in_sweep: bool) -> Iterator[str]:
    yield from filter(None, map(_elsewhere, words))
    own = [word for word in words if not word.is_hydra_override()]
    yield from _unknown_options(own)
    yield from _unknown_keys(own)
    for word in own:
        if word.is_sweep_override() and not in_sweep:
            yield f"{word.input_line} is a grid: add -m to run it as a sweep, or quote the value"
        if misuse := _misuse(word):
            yield f"{word.input_line}: {misuse}"


def _elsewhere(word: Override) -> str | None:
    """What is wrong with a word that would tell Hydra where to write."""
    if word.key_or_group.startswith(("hydra.run.", "hydra.sweep.")):
        return f"{word.input_line} does nothing here; results go to FOLDER/NAME by outputs= name="
    return None


def _misuse(word: Override) -> str | None:
    """What is wrong with the form of a word, whether or not its key is known."""
    if not word.key_or_group:
        return "there is no key before the ="
    if word.is_add() or word.is_force_add():
        return "leave out the +, that key is in conf/ already"
    if word.is_delete():
        return "leave it out; every key keeps a value"
    if word.package is not None:
        return f"leave out @{word.package}, every group has its place"
    parent, _, last = word.key_or_group.rpartition(".")
    if last == "name" and parent.replace(".", "/") in groups():
        return f"a module belongs to its option; choose one with {parent.replace('.', '/')}="
    return None


def _unknown_options(words: Sequence[Override]) -> Iterator[str]:
    for word in words:
        known = groups().get(word.key_or_group, [])
        for value in _foreign(word):
            hint = nearest(value, known) or ";"
            yield f"{word.key_or_group}={value} is no option{hint} options: {', '.join(known)}"


def _foreign(word: Override) -> list[str]:
    """The values of a group that are not its options."""
    known = groups().get(word.key_or_group)
    return [value for value in _chosen(word) if value not in known] if known else []


def _unknown_keys(words: Sequence[Override]) -> Iterator[str]:
    values = _values([word for word in words if word.key_or_group in groups()])
    legal = {*groups(), *_flatten(values, prefix="")}
    for word in words:
        if word.key_or_group not in legal:
            yield f"unknown key {word.input_line}{_remedy(word.key_or_group, values, legal)}"


def _remedy(key: str, values: Mapping[str, Any], legal: set[str]) -> str:
    """What to do about an unknown key: choose an option that has it, or write another one."""
    group, _, last = key.rpartition(".")
    having = owners(group, last) if group in groups() else []
    if having:
        others = " and ".join(f"{group}={each} ({description(group, each)})" for each in having)
        return f": {group}={values[group]['name']} has no such key; it belongs to {others}"
    usable = {each for each in legal if not each.endswith(".name")}
    return nearest(key, usable) or "; --help lists the groups"


def _values(choices: Sequence[Override]) -> dict[str, Any]:
    """The composed values under these choices; of a grid the first ones."""
    words = [f"{word.key_or_group}={value}" for word in choices for value in _chosen(word)[:1]]
    try:
        config = hydra_compose(ROOT_FILE, overrides=words)
    except (HydraException, OmegaConfBaseException):
        config = hydra_compose(ROOT_FILE)
    values = OmegaConf.to_container(config)
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}


def _flatten(values: object, *, prefix: str) -> Iterator[str]:
    if isinstance(values, dict):
        for key, value in values.items():
            yield f"{prefix}{key}"
            yield from _flatten(value, prefix=f"{prefix}{key}.")


def _chosen(word: Override) -> list[str]:
    """The option names that an override chooses, several in a sweep; a pattern names none."""
    if word.is_delete() or word.value_type is ValueType.GLOB_CHOICE_SWEEP:
        return []
    if word.is_sweep_override():
        return list(word.sweep_string_iterator()) if word.is_discrete_sweep() else []
    value = word.value()
    return [value if isinstance(value, str) else word.get_value_element_as_str()]


def _one_line(error: BaseException) -> str:
    """Hydra's own words, and those of what caused them, without advice that is not for here."""
    causes = [error, *([error.__cause__] if error.__cause__ else [])]
    texts = [str(cause).partition("Config search path")[0] for cause in causes]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return " ".join(line for line in lines if line and not any(word in line for word in _NOT_HERE))
