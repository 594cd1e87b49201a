"""The one door: composed plain values in, typed configuration out, or a refusal.

It knows no option. The root dataclasses say where to look: a field of a concrete class is filled
directly; for one of an abstract class, `name` is the module beside it that holds the one to fill.
"""

import dataclasses
import importlib
import inspect
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from andrea_exp.component import Config, Refusal
from andrea_exp.config.catalogue import nearest
from andrea_exp.config.run import Recipe, RunConfig, Running

C = TypeVar("C", bound=Config)


def open_door(values: Mapping[str, Any]) -> RunConfig:
    """Typed configuration from resolved plain values.

    Raises:
        Refusal: a key, type, range or combination is wrong; the message names key and value.
    """
    recipe, running = _names(Recipe), _names(Running)
    _check_keys(values, recipe + running, path="")
    return RunConfig(
        recipe=_fill(Recipe, {key: values[key] for key in recipe}, path=""),
        running=_fill(Running, {key: values[key] for key in running}, path=""),
    )


def open_node(base: type[C], values: Mapping[str, Any], *, path: str) -> C:
    """One typed node from plain values; `path` is its key, for messages.

    Raises:
        Refusal: a key, type or range is wrong.
    """
    return _fill(base, values, path=path)


def recipe_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the resolved values that decides the result."""
    return {key: values[key] for key in _names(Recipe)}


def option_class(base: type[C], name: object, *, path: str) -> type[C]:
    """The one final subclass of `base` in the module `name` beside it."""
    package = base.__module__.rpartition(".")[0]
    try:
        module = importlib.import_module(f"{package}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{package}.{name}":
            raise
        raise Refusal(
            f"{path}.name={name}: there is no module {package}.{name}; "
            f"choose an option with {path.replace('.', '/')}="
        ) from error
    found = [
        member
        for member in vars(module).values()
        if inspect.isclass(member)
        and issubclass(member, base)
        and member.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise Refusal(
            f"{path}={name}: {package}.{name} must hold one {base.__name__}, has {len(found)}"
        )
    return found[0]


def _fill(cls: type[C], values: object, *, path: str) -> C:
    if not isinstance(values, Mapping):
        raise Refusal(f"{path} must be a group of keys, got {values!r}")
    if inspect.isabstract(cls):
        cls = option_class(cls, values.get("name"), path=path)
    _check_keys(values, _names(cls), path=path)
    hints = typing.get_type_hints(cls)
    nodes: dict[str, Any] = {}
    leaves: dict[str, Any] = {}
    for key, value in values.items():
        node = _config_class(hints[key])
        if node is None:
            leaves[key] = value
        else:
            below = f"{path}.{key}" if path else key
            nodes[key] = _filled(node, hints[key], value, path=below)
    try:
        typed = _typed({key: hints[key] for key in leaves}, leaves)
        return cls(**typed, **nodes)
    except ValueError as error:
        raise Refusal(f"{path}.{error}" if path else str(error)) from error


def _filled(node: type[Config], hint: Any, value: object, *, path: str) -> object:
    """What stands at a key whose type holds a configuration class: one, None, or a list of some."""
    if _is_list(hint):
        if not isinstance(value, list):
            raise Refusal(f"{path} must be a list, got {value!r}")
        return [_fill(node, each, path=f"{path}[{index}]") for index, each in enumerate(value)]
    optional = value is None and type(None) in typing.get_args(hint)
    return None if optional else _fill(node, value, path=path)


def _typed(hints: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Leaves converted and checked by OmegaConf: enums from names, no unit or type guessed.

    A list may be written as its only element.
    """
    values = {
        key: [value] if _is_list(hints[key]) and isinstance(value, str | int | float) else value
        for key, value in values.items()
    }
    for key, value in values.items():
        _check_list(value, hints[key], key=key)
    schema = dataclasses.make_dataclass("Leaves", list(hints.items()))
    try:
        return vars(
            OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(schema), dict(values)))
        )
    except OmegaConfBaseException as error:
        key = str(error.full_key).partition("[")[0]
        raise ValueError(f"{key}={values[key]}: {str(error).splitlines()[0]}") from error


def _check_list(value: object, hint: Any, *, key: str) -> None:
    """A list where the type has one, and lists in it where it has those."""
    if not _is_list(hint):
        return
    if not isinstance(value, list):
        raise ValueError(f"{key}={value} must be a list, such as {key}=[{value}]")
    if _is_list(typing.get_args(hint)[0]) and not all(isinstance(each, list) for each in value):
        raise ValueError(f"{key}={value} must be a list of lists, such as {key}=[{value}]")


def _is_list(hint: Any) -> bool:
    return typing.get_origin(hint) is list


def _config_class(hint: Any) -> type[Config] | None:
    """The configuration class inside a type, if there is one."""
    for part in (hint, *typing.get_args(hint)):
        if inspect.isclass(part) and issubclass(part, Config):
            return part
    return None


def _check_keys(values: Mapping[str, Any], legal: Iterable[str], *, path: str) -> None:
    legal, prefix = list(legal), f"{path}." if path else ""
    for key in values:
        if key not in legal:
            keys = ", ".join(f"{prefix}{name}" for name in legal)
            hint = nearest(key, legal) or f"; the keys are {keys}"
            raise Refusal(f"unknown key {prefix}{key}={values[key]}{hint}")
    for key in legal:
        if key not in values:
            raise Refusal(f"missing key {prefix}{key}: every value must stand in conf/")


def _names(cls: type[Config]) -> list[str]:
    return [field.name for field in dataclasses.fields(cls)]
