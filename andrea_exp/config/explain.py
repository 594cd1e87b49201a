"""What is wrong with a command line, in one line, where Hydra's own words would not help."""

from collections.abc import Iterator, Sequence

from hydra import compose as hydra_compose
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from andrea_exp.config.catalogue import ROOT_FILE, groups, nearest


def refuse_new_keys(overrides: Sequence[str]) -> None:
    """Hydra lets `+` and `++` add any key; here every key is in `conf/` already.

    Raises:
        HydraException: a word would add one.
    """
    for word in OverridesParser.create().parse_overrides(list(overrides)):
        if _adds(word):
            raise HydraException(f"{word.input_line} would add a key")


def explain(error: Exception, overrides: Sequence[str]) -> str:
    """The first complaint about these words, or else Hydra's own. Call inside `hydra_ready`."""
    try:
        words = OverridesParser.create().parse_overrides(list(overrides))
    except HydraException as unread:
        return f"cannot read the command line: {_one_line(unread)}"
    return next(_complaints(words), _one_line(error))


def _complaints(words: Sequence[Override]) -> Iterator[str]:
    own = [word for word in words if not word.is_hydra_override()]
    yield from _unknown_options(own)
    yield from _unknown_keys(own)
    for word in own:
        if word.is_sweep_override():
            yield f"{word.input_line} is a grid: add -m to run it as a sweep, or quote the value"
        if _adds(word):
            yield f"{word.input_line}: leave out the +, that key is in conf/ already"


def _unknown_options(words: Sequence[Override]) -> Iterator[str]:
    options = groups()
    for word in words:
        known = options.get(word.key_or_group, [])
        for value in _chosen(word) if known else []:
            if value not in [*known, "null"]:
                hint = nearest(value, known) or ";"
                yield f"{word.key_or_group}={value} is no option{hint} options: {', '.join(known)}"


def _unknown_keys(words: Sequence[Override]) -> Iterator[str]:
    legal = {*groups(), *_keys([word for word in words if word.key_or_group in groups()])}
    for word in words:
        if word.key_or_group not in legal:
            hint = nearest(word.key_or_group, legal) or "; --help lists the groups"
            yield f"unknown key {word.input_line}{hint}"


def _keys(choices: Sequence[Override]) -> Iterator[str]:
    """Every dotted key, inner nodes included, under these choices; of a grid the first ones."""
    words = [(word.input_line or "").lstrip("+").partition(",")[0] for word in choices]
    try:
        config = hydra_compose(ROOT_FILE, overrides=words)
    except (HydraException, OmegaConfBaseException):
        config = hydra_compose(ROOT_FILE)
    yield from _flatten(OmegaConf.to_container(config), prefix="")


def _flatten(values: object, *, prefix: str) -> Iterator[str]:
    if isinstance(values, dict):
        for key, value in values.items():
            yield f"{prefix}{key}"
            yield from _flatten(value, prefix=f"{prefix}{key}.")


def _chosen(word: Override) -> list[str]:
    """The option names that an override chooses, several in a sweep."""
    if word.is_sweep_override() and word.is_discrete_sweep():
        return list(word.sweep_string_iterator())
    return [] if word.is_delete() else [word.get_value_element_as_str()]


def _adds(word: Override) -> bool:
    return (word.is_add() or word.is_force_add()) and not word.is_hydra_override()


def _one_line(error: BaseException) -> str:
    """Hydra's own words, and those of what caused them, without its advice to add keys."""
    causes = [error, *([error.__cause__] if error.__cause__ else [])]
    lines = [line.strip() for cause in causes for line in str(cause).splitlines()]
    return " ".join(
        line for line in lines if line and "use +" not in line and "See http" not in line
    )
