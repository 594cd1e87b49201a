"""What is decided before the first step: claims 20, 26 and 28."""

import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from andrea_exp.assemble import Run
from andrea_exp.kernel.embedding.sinusoid import written
from andrea_exp.lesson import parts
from andrea_exp.lesson.claim import Found, Question, Value, equal, near
from andrea_exp.lesson.models import weight_of_positions
from andrea_exp.lesson.quality import losses_by_std
from andrea_exp.model.decoder import Decoder

VOCAB, WIDTH = 8_449, 768


def first_loss() -> Found:
    """Claim 20."""
    yield near("ln 8,449", math.log(VOCAB), 9.0418, within=5e-5)
    for name, std, nats, within in (
        ("std .02", 0.02, 9.195, 0.02),
        ("std 1/sqrt(D) = .0361", WIDTH**-0.5, 9.542, 0.02),
        ("std sqrt(D) = 27.7", WIDTH**0.5, 2_900.0, 145.0),
    ):
        run = _example(std)
        yield near(f"first loss in nats, {name}", _loss(run.build_model()), nats, within=within)
    warned = sum("give logits of" in warning for warning in _example(WIDTH**0.5).warnings())
    yield equal("warnings of the product at sqrt(D)", warned, 1)


def _example(std: float) -> Run:
    """The lesson's example without blocks, its two token matrices drawn with this deviation."""
    config = parts.composed("system=andrea_120m")
    recipe = config.recipe
    model = replace(recipe.model, num_layers=0, context=16)
    embedding = replace(recipe.embedding, std=std)
    return Run(replace(config, recipe=replace(recipe, model=model, embedding=embedding)))


@torch.no_grad()
def _loss(model: Decoder) -> float:
    """Mean over all targets of 64 places, so without the luck of some."""
    logits = model(torch.arange(64).view(4, 16) * 131).double()
    return float((logits.logsumexp(dim=-1) - logits.mean(dim=-1)).mean())


def scales() -> Found:
    """Claim 26, the part that needs no training."""
    inverse = WIDTH**-0.5
    for name, embedding, position, std, ratio in (
        ("raw sinusoid, std .02", "table", "sinusoidal_raw", 0.02, 35.355),
        ("raw sinusoid, std 1/sqrt(D)", "table", "sinusoidal_raw", inverse, 19.596),
        ("sinusoid at the tokens' scale", "table", "sinusoidal", 0.02, 1.0),
        ("learned rows of std .02", "table", "learned", 0.02, 1.0),
        ("raw, tokens x sqrt(D), 1/sqrt(D)", "scaled", "sinusoidal_raw", inverse, 0.7071),
        ("raw, tokens x sqrt(D), .02", "scaled", "sinusoidal_raw", 0.02, 1.2758),
    ):
        found = _ratio(_run(embedding, std=std), position=position)
        yield near(f"norm ratio, {name}", found, ratio, within=0.01 * ratio)


def _run(embedding: str, *, std: float) -> Run:
    words = ("data=noise", "data.vocab=800", f"model.d_model={WIDTH}", "model.num_layers=0")
    config = parts.composed(*words, f"embedding={embedding}")
    recipe = config.recipe
    return Run(
        replace(config, recipe=replace(recipe, embedding=replace(recipe.embedding, std=std)))
    )


@torch.no_grad()
def _ratio(run: Run, *, position: str) -> float:
    model = parts.changed(run.config, position=position).build_model()
    tokens = model.embedding(torch.arange(800)[None], None)[0]
    rows = model.position.rows(parts.first(64))
    assert rows is not None
    places = written(rows, dtype=tokens.dtype)
    return float(places.norm(dim=1).mean() / tokens.norm(dim=1).mean())


def shared_start() -> Found:
    """Claim 28, the part that needs no training."""
    config = parts.composed(*parts.SMALL)
    baseline = _tensors(parts.changed(config, position="learned").build_model())
    for position in parts.schemes():
        for output in parts.outputs():
            run = parts.changed(config, position=position, output=output)
            yield from _compared(
                _tensors(run.build_model()), baseline, name=f"{position}, {output}"
            )


def _tensors(model: Decoder) -> dict[str, Tensor]:
    return dict(model.named_parameters())


def _compared(
    found: dict[str, Tensor], baseline: dict[str, Tensor], *, name: str
) -> Iterator[Value]:
    """How many of the tensors that any two arms share are not the same bits."""
    shared = [key for key in found if not key.startswith(("position.", "output."))]
    shared += ["output.weight"] if "output.weight" in found else []
    different = sum(not torch.equal(found[key], baseline[key]) for key in shared)
    yield equal(f"{name}: shared tensors that differ, of {len(shared)}", different, 0)


QUESTIONS = (
    Question(
        number=20,
        question="Which loss does a model start with?",
        says="Init is normal, scaled by 1/sqrt(D); a translation says sqrt(D). The other lesson "
        "has about .02.",
        right="ln V + std^2 D / 2 with an untied output and normalised features. 1/sqrt(D) and .02 "
        "agree at D 2,500 alone: at 64 it is .125. sqrt(D) would start near 2,900 nats, so check "
        "the first loss.",
        live=first_loss,
    ),
    Question(
        number=26,
        question="Can the model weigh token against position in the sum?",
        says="Rows are added without scaling, and the model decides feature by feature which "
        "dominates.",
        right="It starts from a ratio that somebody chose: raw sinusoid rows are 35.4 times as "
        "long as token rows of std .02, whatever D, and learned rows of the same std 1 time. A raw "
        "comparison of the two compares scales too; so the scaled sinusoid is the default here, "
        "and the raw one an arm of its own.",
        live=scales,
        trained=weight_of_positions,
        command="python -m andrea_exp -m name=weights position=learned,sinusoidal,sinusoidal_raw "
        "embedding=table,scaled,normed",
    ),
    Question(
        number=28,
        question="Does the same init in every run matter more than which init?",
        says="Which init matters less than using the same one in every run.",
        right="Here every part draws from a stream of its own, so two arms of one seed share every "
        "tensor they have in common, bit for bit. What another std does is a measurement.",
        live=shared_start,
        trained=losses_by_std,
        command="python -m andrea_exp -m name=std embedding.std=0.02,0.08,null seed=0,1,2,3,4,5",
    ),
)
