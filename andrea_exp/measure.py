"""Everything that is measured after training, gathered into the content of `results.json`."""

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from andrea_exp.config.run import Recipe
from andrea_exp.data.base import Data
from andrea_exp.evaluate.baselines import baselines
from andrea_exp.evaluate.chosen import Chosen, chosen
from andrea_exp.evaluate.drift import Decay
from andrea_exp.evaluate.floor import Floor
from andrea_exp.evaluate.geometry import Rows, chosen_rows, geometry
from andrea_exp.evaluate.hidden_states import hidden_mean
from andrea_exp.evaluate.input_norms import InputNorms, input_norms
from andrea_exp.evaluate.ledger import ledger
from andrea_exp.evaluate.lengths import floor_at_trained, lengths, loss_at_trained
from andrea_exp.evaluate.order import order
from andrea_exp.evaluate.results import SCHEMA, Final, Results, Throughput
from andrea_exp.evaluate.slots import slot_losses
from andrea_exp.evaluate.smoothness import smoothness
from andrea_exp.model.decoder import Decoder
from andrea_exp.optimizer.groups import Kind


class Initial(NamedTuple):
    """What is kept of the values before training, so that no second model is."""

    position_rows: Float[Tensor, "M D"] | None
    """A copy of the position scheme's table, or None if it has none."""
    chosen: Chosen
    """The tokens whose rows are compared."""
    token_rows: dict[str, Rows]
    """Copies of these rows."""
    norms: InputNorms


def initial(model: Decoder, *, data: Data, recipe: Recipe) -> Initial:
    """Look at a model before it is trained.

    Raises:
        Refusal: a pair of the configuration is not one of tokens.
    """
    looked_at = chosen(data, config=recipe.evaluation)
    return Initial(
        position_rows=position_rows(model),
        chosen=looked_at,
        token_rows=chosen_rows(model, looked_at.tokens),
        norms=input_norms(model),
    )


def position_rows(model: Decoder) -> Float[Tensor, "M D"] | None:
    """A copy of the position scheme's table, or None if it has none."""
    table = model.position.table()
    return None if table is None else table.detach().clone()


@torch.no_grad()
def token_vectors(model: Decoder) -> Float[Tensor, "V D"]:
    """The vector of every id in use, as the embedding gives it without a position."""
    ids = torch.arange(model.sizes.used_vocab, device=model.embedding.token_rows().device)
    return model.embedding(ids[None], None)[0]


def _decay_of_rows(recipe: Recipe) -> Decay:
    steps = recipe.trainer.max_steps
    return Decay(kept=recipe.optimizer.kept(Kind.positions, max_steps=steps), steps=steps)


def measure(
    model: Decoder,
    *,
    recipe: Recipe,
    data: Data,
    init: Initial,
    train_loss_nats: float | None,
    throughput: Throughput,
) -> Results:
    """All measures of one trained model.

    Args:
        model: after training.
        recipe: what it was made and trained by.
        data: that it was trained on.
        init: `initial` of the model before training.
        train_loss_nats: the last logged mean.
        throughput: of the training.
    """
    validation = data.validation()
    floor = Floor(data, validation)
    rows = lengths(model, validation, config=recipe.evaluation, floor=floor)
    least = floor_at_trained(rows)
    lines = baselines(data.training_sample(), validation, vocab=data.vocab)
    return Results(
        schema=SCHEMA,
        cost=ledger(
            model, nominal=recipe.model.nominal_parameters, moments=recipe.optimizer.moments
        ),
        lengths=rows,
        slots=slot_losses(model, data, config=recipe.evaluation),
        smoothness=replace(
            smoothness(
                model.position,
                init=init.position_rows,
                tokens=token_vectors(model),
                context=recipe.model.context,
                decay=_decay_of_rows(recipe),
                shuffles=recipe.evaluation.shuffles,
                seed=recipe.seed,
            ),
            hidden_mean=hidden_mean(model, validation, config=recipe.evaluation, init=init.norms),
        ),
        geometry=geometry(
            model,
            data,
            looked_at=init.chosen,
            init=init.token_rows,
            num_neighbours=recipe.evaluation.neighbours,
        ),
        order=order(model, validation, config=recipe.evaluation, seed=recipe.seed),
        throughput=throughput,
        final=Final(
            train_loss_nats=train_loss_nats,
            val_loss_nats=loss_at_trained(rows),
            floor_nats=data.floor_nats if least is None else least,
            unigram_nats=lines.unigram_nats,
            uniform_nats=lines.uniform_nats,
            bigram_nats=lines.bigram_nats,
        ),
    )
