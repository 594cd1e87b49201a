"""The product's own parts, composed from `conf/` and built at the sizes that a claim speaks of."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor, nn

import andrea_exp
from andrea_exp.assemble import Run
from andrea_exp.config.catalogue import owners
from andrea_exp.config.run import RunConfig
from andrea_exp.evaluate.ledger import Ledger, ledger
from andrea_exp.kernel.embedding.sinusoid import written
from andrea_exp.model.config import ModelConfig
from andrea_exp.position.base import Position, Positions
from andrea_exp.seeding import torch_generator
from andrea_exp.shapes import Sizes

SMALL = (
    "data=noise",
    "data.vocab=19",
    "model.d_model=12",
    "model.num_heads=3",
    "model.context=7",
    "embedding.std=0.5",
    "model.init.std=0.4",
    "output=untied",
)
"""V 19, D 12, 3 heads, T 7, 2 layers, and weights so large that what depends on order shows."""

TOKEN_SCALE = 0.02
"""Standard deviation of the token rows that the lessons speak of."""


@cache
def composed(*words: str) -> RunConfig:
    """The typed configuration of a command line."""
    return andrea_exp.compose(*words).config


def schemes() -> list[str]:
    """The position options that are no deviation from another."""
    return owners("position", "name")


def outputs() -> list[str]:
    """The output options that are no deviation from another."""
    return owners("output", "name")


def changed(
    config: RunConfig,
    *,
    model: ModelConfig | None = None,
    position: str | None = None,
    output: str | None = None,
) -> Run:
    """A run with other parts than its configuration has; positions and outputs are options."""
    recipe = config.recipe
    if model is not None:
        recipe = replace(recipe, model=model)
    if position is not None:
        recipe = replace(recipe, position=composed(f"position={position}").recipe.position)
    if output is not None:
        recipe = replace(recipe, output=composed(f"output={output}").recipe.output)
    return Run(replace(config, recipe=recipe))


def counted(run: Run) -> Ledger:
    """The ledger of a run's model, which is not allocated."""
    model = run.build_model(vocab=run.recipe.model.vocab or run.known_vocab(), allocate=False)
    return ledger(
        model,
        nominal=run.recipe.model.nominal_parameters,
        moments=run.recipe.optimizer.moments,
    )


def scheme(
    option: str,
    *,
    rows: int,
    width: int,
    heads: int = 1,
    seed: int = 0,
    token_scale: float = TOKEN_SCALE,
) -> Position:
    """A position scheme trained for `rows` positions, with its initial values in float64."""
    sizes = Sizes(vocab=1, used_vocab=1, context=rows, d_model=width, num_heads=heads, num_layers=1)
    config = composed(f"position={option}").recipe.position
    with torch.no_grad():
        built = config.build(sizes=sizes, token_scale=token_scale).double()
        built.initialise(torch_generator(seed, "init/position"))
    return built


def rows_of(position: Position, count: int) -> Tensor:
    """The first `count` rows that a scheme adds, (T, D); in float64 where it computes them.

    Raises:
        TypeError: it adds none.
    """
    rows = position.rows(first(count))
    if rows is None:
        raise TypeError(f"{type(position).__name__} adds no rows")
    return written(rows, dtype=torch.float64).detach()


def first(count: int) -> Positions:
    """Positions 0..count-1."""
    return Positions.first(count, device=torch.device("cpu"))


def parameters(part: nn.Module) -> int:
    """How many numbers a part trains."""
    return sum(parameter.numel() for parameter in part.parameters())


def refusal(attempt: Callable[[], object]) -> str:
    """The message with which something is refused; "accepted" if it is not."""
    try:
        attempt()
    except (ValueError, IndexError) as error:
        return str(error)
    return "accepted"
