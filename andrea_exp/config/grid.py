"""The grid of a command line, taken apart: the words of every combination, first ones slowest."""

import itertools
from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from andrea_exp.component import Refusal
from andrea_exp.config.compose import hydra_ready
from andrea_exp.config.explain import explain


def combinations(overrides: Sequence[str]) -> list[list[str]]:
    """The words of each combination; one list if there is no grid.

    Raises:
        Refusal: a word cannot be read, or is a grid of another kind than a list or a range.
    """
    try:
        words = OverridesParser.create().parse_overrides(list(overrides))
    except HydraException as error:
        with hydra_ready():
            raise Refusal(explain(error, overrides)) from error
    return [list(each) for each in itertools.product(*map(_values, words))]


def _values(word: Override) -> list[str]:
    if not word.is_sweep_override():
        return [word.input_line or ""]
    if not word.is_discrete_sweep():
        raise Refusal(f"{word.input_line}: give a list, such as a,b, or range(1,9)")
    return [f"{word.get_key_element()}={value}" for value in word.sweep_string_iterator()]
