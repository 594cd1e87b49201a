"""Everything that is measured after training, gathered into the content of `results.json`."""

import torch
from jaxtyping import Float
from torch import Tensor

from andrea_exp.config.run import Recipe
from andrea_exp.data.base import Data
from andrea_exp.evaluate.baselines import baselines
from andrea_exp.evaluate.drift import Decay
from andrea_exp.evaluate.floor import Floor
from andrea_exp.evaluate.ledger import ledger
from andrea_exp.evaluate.lengths import floor_at_trained, lengths, loss_at_trained
from andrea_exp.evaluate.results import SCHEMA, Final, Results, Throughput
from andrea_exp.evaluate.slots import slot_losses
from andrea_exp.evaluate.smoothness import smoothness
from andrea_exp.model.decoder import Decoder
from andrea_exp.optimizer.groups import Kind


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
    initial_rows: Float[Tensor, "M D"] | None,
    train_loss_nats: float | None,
    throughput: Throughput,
) -> Results:
    """All measures of one trained model.

    Args:
        model: after training.
        recipe: what it was made and trained by.
        data: that it was trained on.
        initial_rows: `position_rows` of the model before training.
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
        smoothness=smoothness(
            model.position,
            init=initial_rows,
            tokens=token_vectors(model),
            context=recipe.model.context,
            decay=_decay_of_rows(recipe),
            shuffles=recipe.evaluation.shuffles,
            seed=recipe.seed,
        ),
        geometry=None,
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
