"""Every file in `conf/` keeps the rules that make an option one file, one module and one test."""

import dataclasses
import importlib
import pkgutil
from pathlib import Path

import pytest
import yaml

import andrea_exp
from andrea_exp.component import Config
from andrea_exp.config.catalogue import conf_directory, description, groups
from andrea_exp.config.request import request

OVERLAYS = ("system", "experiment")
OPTIONS = [(group, option) for group, options in groups().items() for option in options]
CHOICES = [(group, option) for group, option in OPTIONS if group not in OVERLAYS]


def _text(group: str, option: str) -> str:
    return (conf_directory() / group / f"{option}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("group", "option"), OPTIONS)
def test_an_option_begins_with_a_comment_that_describes_it(group: str, option: str) -> None:
    assert len(description(group, option)) > 10


@pytest.mark.parametrize(("group", "option"), OPTIONS)
def test_an_overlay_says_so_in_its_first_line_and_nothing_else_does(
    group: str, option: str
) -> None:
    first = _text(group, option).splitlines()[0]
    assert (first == "# @package _global_") == (group in OVERLAYS)


@pytest.mark.parametrize(("group", "option"), CHOICES)
def test_an_option_passes_the_door(group: str, option: str) -> None:
    request([f"{group}={option}"])


@pytest.mark.parametrize("option", groups()["system"])
def test_a_system_passes_the_door(option: str) -> None:
    request([f"system={option}"])


@pytest.mark.parametrize(("group", "option"), OPTIONS)
def test_a_deviation_changes_values_after_its_parent_and_no_name(group: str, option: str) -> None:
    node = yaml.safe_load(_text(group, option)) or {}
    defaults = node.get("defaults", [])
    if defaults and "_self_" in defaults:
        assert defaults[-1] == "_self_"
        assert "name" not in node or group in OVERLAYS or all("@" in each for each in defaults[:-1])


def test_no_default_stands_in_python() -> None:
    def classes(base: type[Config]) -> list[type[Config]]:
        found = [base]
        for child in base.__subclasses__():
            found += classes(child)
        return found

    for module in pkgutil.walk_packages(andrea_exp.__path__, "andrea_exp."):
        importlib.import_module(module.name)
    found = classes(Config)
    assert len(found) > 20
    for cls in found:
        for field in dataclasses.fields(cls):
            assert field.default is dataclasses.MISSING, f"{cls.__name__}.{field.name}"
            assert field.default_factory is dataclasses.MISSING, f"{cls.__name__}.{field.name}"


def _keys(node: object, prefix: str) -> set[str]:
    if not isinstance(node, dict):
        return {prefix}
    return {prefix} | {
        key for name, value in node.items() for key in _keys(value, f"{prefix}.{name}")
    }


def _declared(group: str, choice: str) -> set[str]:
    """Keys of an option's own file and of those that it starts from, or holds: `option@key`."""
    node = yaml.safe_load(_text(group, choice)) or {}
    found = _keys({key: value for key, value in node.items() if key != "defaults"}, group)
    for each in node.get("defaults", []):
        if isinstance(each, str) and each != "_self_":
            parent, _, key = each.partition("@")
            inside = f"{group}.{key}" if key else group
            found |= {inside + name.removeprefix(group) for name in _declared(group, parent)}
    return found


def test_an_overlay_sets_only_keys_that_every_choice_of_its_group_has() -> None:
    have = {(group, choice): _declared(group, choice) for group, choice in CHOICES}
    for overlay in OVERLAYS:
        for option in groups()[overlay]:
            node = yaml.safe_load(_text(overlay, option)) or {}
            for (group, choice), keys in have.items():
                wanted = _keys(node[group], group) if group in node else set()
                assert wanted <= keys, f"{overlay}/{option} sets {wanted - keys} of {choice}"


def test_options_and_their_modules_are_named_in_lower_case() -> None:
    for path in Path(conf_directory()).rglob("*.yaml"):
        assert path.stem.replace("_T", "_t") == path.stem.lower()
