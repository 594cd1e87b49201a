"""Trained models, rebuilt from their run directories with the values they started from."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from statistics import fmean
from typing import NamedTuple

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from andrea_exp.assemble import Run as Built
from andrea_exp.component import Refusal
from andrea_exp.config.door import open_door
from andrea_exp.data.grammar import GrammarConfig
from andrea_exp.data.grammar_words import ENGLISH
from andrea_exp.embedding.normed import Normed
from andrea_exp.kernel.embedding.sinusoid import written
from andrea_exp.lesson import parts
from andrea_exp.lesson.claim import Found, Value, told
from andrea_exp.lesson.runs import direction, has_data, is_tied
from andrea_exp.model.decoder import Decoder
from andrea_exp.record.directory import RunDirectory
from andrea_exp.report.table import Run, Table
from andrea_exp.train.config import Device

WINDOWS = 128
"""Of validation text, in which the share of positions is measured."""


OTHERS = ("dog", "pet", "Tuesday", "xylophone")
"""What the lesson compares the cat with."""


class Rebuilt(NamedTuple):
    """One run's model before and after training, on the CPU."""

    built: Built
    initial: Decoder
    trained: Decoder


def rebuilt(run: Run) -> Rebuilt | None:
    """A run's models; None if it left no weights.

    Raises:
        Refusal: the weights are damaged, or this program would build another model.
    """
    file = RunDirectory(run.record.path).model_file
    if not file.is_file():
        return None
    config = open_door(run.record.config)
    runtime = replace(config.running.runtime, device=Device.cpu)
    built = Built(replace(config, running=replace(config.running, runtime=runtime)))
    trained = built.build_model()
    try:
        trained.load_state_dict(load_file(file))
    except (SafetensorError, RuntimeError) as error:
        raise Refusal(f"{file} does not hold the model of its run: {error}") from error
    return Rebuilt(built, built.build_model(), trained.eval())


def closeness_of_words(table: Table) -> Found:
    """Claim 14: cosines within and across classes of words, by matrix, at init and trained."""
    for arm, runs in table.arms.items():
        models = [found for run in runs if has_data(run, GrammarConfig) and (found := rebuilt(run))]
        if models:
            yield from _of_words(arm, models, tied=is_tied(runs[0]))


def _of_words(arm: str, models: list[Rebuilt], *, tied: bool) -> Iterator[Value]:
    for side in ("tied",) if tied else ("input", "output"):
        tables = [[_rows(each, side) for each in (m.initial, m.trained)] for m in models]
        contrasts = [[contrast(rows) for rows in pair] for pair in tables]
        name = f"{arm}, {side} rows"
        means = [fmean(each) for each in zip(*contrasts, strict=True)]
        yield told(f"{name}: within minus across, at init and trained", means)
        cosines = [fmean(_cosine(pair[1], word) for pair in tables) for word in OTHERS]
        yield told(f"{name}: cat with {', '.join(OTHERS)}, trained", cosines)
        gained = [after - before for before, after in contrasts]
        risen = f"{name}: rise by training"
        yield from direction(risen, gained) if side == "input" else [told(risen, fmean(gained))]


def _rows(model: Decoder, side: str) -> Tensor:
    rows = model.embedding.token_rows()
    chosen = model.output.rows(embedding=model.embedding) if side == "output" else rows
    return chosen.detach()[: len(ENGLISH.words)]


def contrast(rows: Tensor) -> float:
    """Mean cosine of two words of one class minus that of words of two; classes are fields.

    Args:
        rows: (V, D), one for each word of the grammar; function words belong to no class.
    """
    unit = F.normalize(rows.double(), dim=1)
    cosines = unit @ unit.T
    fields = [[ENGLISH.words.index(word) for word in words] for words in ENGLISH]
    within = [cosines[i, j] for words in fields for i, j in combinations(words, 2)]
    across = [
        cosines[i, j] for one, other in combinations(fields, 2) for i, j in product(one, other)
    ]
    return float(torch.stack(within).mean() - torch.stack(across).mean())


def _cosine(rows: Tensor, word: str) -> float:
    cat, other = (rows[ENGLISH.words.index(each)].double() for each in ("cat", word))
    return float(F.cosine_similarity(cat, other, dim=0))


def weight_of_positions(table: Table) -> Found:
    """Claim 26: norms of position over token rows, and what share of the stream positions have."""
    for arm, runs in table.arms.items():
        models = rebuilt(runs[0])
        if models is not None and models.trained.position.table() is not None:
            yield told(f"{arm}: norm ratio at init", norm_ratio(models.initial))
            yield told(f"{arm}: norm ratio trained", norm_ratio(models.trained))
            yield told(f"{arm}: variance by position, %, by layer", _shares(models))


def _shares(models: Rebuilt) -> list[float] | str:
    """In per cent; or why there are none, where the data of the run cannot be had here."""
    try:
        ids = _windows(models)
    except Refusal as refusal:
        return f"not measured: {refusal}"
    return [100 * share for share in position_shares(models.trained, ids)]


@torch.no_grad()
def norm_ratio(model: Decoder) -> float:
    """Mean norm of the trained length's position rows over that of what they are added to."""
    tokens = model.embedding.token_rows()
    if not isinstance(model.embedding, Normed):  # which normalises after the sum
        tokens = model.embedding(torch.arange(model.sizes.used_vocab)[None], None)[0]
    rows = model.position.rows(parts.first(model.sizes.context))
    assert rows is not None
    places = written(rows, dtype=tokens.dtype)
    return float(places.norm(dim=1).mean() / tokens.norm(dim=1).mean())


def _windows(models: Rebuilt) -> Tensor:
    """Windows (B, T) of the run's own validation text."""
    context = models.trained.sizes.context
    tokens = torch.from_numpy(models.built.load_data().validation()[: WINDOWS * context].copy())
    return tokens[: len(tokens) // context * context].long().view(-1, context)


@torch.no_grad()
def position_shares(model: Decoder, ids: Tensor) -> list[float]:
    """Share of the residual stream's variance between positions: after the sum and each block.

    Args:
        model: at whose states to look.
        ids: (B, T); the 1/B of the variance within a position that its mean still has is removed.
    """
    return [_share(state.double()) for state in model.states(ids)[:-1]]


def _share(state: Tensor) -> float:
    means = state.mean(dim=0)
    within = (state - means).square().sum() / (len(state) - 1)
    between = (means - means.mean(dim=0)).square().sum() - within / len(state)
    return float(between / (between + within))
