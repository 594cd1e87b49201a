"""Every trained parameter is in exactly one group."""

import pytest
import torch
from torch import nn

from andrea_exp.optimizer.groups import Kind, parameter_groups
from tests import options


def build(position: str, *, output: str = "tied", embedding: str = "table") -> nn.Module:
    return options.decoder(
        options.model(bias=True),
        position=options.position(position),
        embedding=options.small(options.embedding(embedding)),
        output=options.output(output),
    )


@pytest.mark.parametrize("output", options.names("output"))
@pytest.mark.parametrize("embedding", options.names("embedding"))
@pytest.mark.parametrize("position", ["learned", "sinusoidal", "none"])
def test_the_groups_cover_the_model_once(position: str, embedding: str, output: str):
    model = build(position, output=output, embedding=embedding)
    grouped = [p for group in parameter_groups(model) for p in group.parameters.values()]
    assert len(grouped) == len({id(p) for p in grouped})
    assert {id(p) for p in grouped} == {id(p) for p in model.parameters()}


def test_names_fall_where_they_belong():
    groups = {group.kind: set(group.parameters) for group in parameter_groups(build("learned"))}
    assert groups[Kind.positions] == {"position.weight"}
    assert {"embedding.weight", "blocks.0.attention.project_in.weight"} <= groups[Kind.matrices]
    assert {"norm.weight", "blocks.1.feedforward.narrow.bias"} <= groups[Kind.vectors]
    assert not any("norm" in name or "bias" in name for name in groups[Kind.matrices])


def test_a_group_without_members_is_left_out():
    kinds = [group.kind for group in parameter_groups(build("sinusoidal"))]
    assert kinds == [Kind.matrices, Kind.vectors]


def test_a_tied_matrix_counts_once_and_an_untied_one_is_a_matrix():
    for output, expected in (("tied", False), ("untied", True)):
        matrices = parameter_groups(build("learned", output=output))[0].parameters
        assert ("output.weight" in matrices) is expected


def test_a_frozen_parameter_is_in_no_group():
    model = build("learned")
    model.get_submodule("position").requires_grad_(False)
    assert Kind.positions not in [group.kind for group in parameter_groups(model)]


def test_a_parameter_without_an_axis_is_refused_by_name():
    model = nn.Module()
    model.register_parameter("temperature", nn.Parameter(torch.tensor(1.0)))
    with pytest.raises(ValueError, match="temperature is a single number"):
        parameter_groups(model)
