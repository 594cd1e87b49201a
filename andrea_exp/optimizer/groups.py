"""Which parameters are decayed: three named groups that cover a model."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from torch import nn


class Kind(Enum):
    """What the parameters of a group are. An optimizer decays matrices, and positions if asked."""

    matrices = "two or more axes: token, output and projection matrices"
    positions = "whatever the position scheme trains"
    vectors = "one axis: gains and biases; never decayed"


class Group(NamedTuple):
    """Parameters that are treated alike."""

    kind: Kind
    parameters: Mapping[str, nn.Parameter]
    """Name in the model -> parameter, in the model's order."""


def parameter_groups(model: nn.Module) -> list[Group]:
    """The groups of a model that are not empty; each trainable parameter is in exactly one.

    A tied matrix has one name and counts once. What the model holds as its attribute `position`
    is the position scheme.

    Raises:
        ValueError: a parameter belongs to no group.
    """
    members: dict[Kind, dict[str, nn.Parameter]] = {kind: {} for kind in Kind}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            members[_kind(name, parameter)][name] = parameter
    return [Group(kind, parameters) for kind, parameters in members.items() if parameters]


def _kind(name: str, parameter: nn.Parameter) -> Kind:
    if name.startswith("position."):
        return Kind.positions
    if parameter.ndim == 0:
        raise ValueError(
            f"parameter {name} is a single number and belongs to no group "
            f"({', '.join(kind.name for kind in Kind)}); give it an axis"
        )
    return Kind.vectors if parameter.ndim == 1 else Kind.matrices
