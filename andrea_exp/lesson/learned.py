"""A table of trained rows, fresh and trained: claims 11, 12, 18 and 23."""

import numpy as np
import torch
from torch import Tensor

from andrea_exp.evaluate.controls import controls
from andrea_exp.evaluate.panel import panel
from andrea_exp.lesson import parts
from andrea_exp.lesson.claim import Found, Plot, Question, above, equal, near, told
from andrea_exp.lesson.lookup import past_the_table
from andrea_exp.lesson.quality import losses_in_and_past, smoothness
from andrea_exp.lesson.sinusoid import sinusoid
from andrea_exp.lesson.steps import trained

WIDTH, ROWS, DRAWS = 64, 128, 50


SHUFFLES = 10


def fresh(option: str, *, seed: int) -> Tensor:
    """A learned table as its seed draws it."""
    return parts.rows_of(parts.scheme(option, rows=ROWS, width=WIDTH, seed=seed), ROWS)


def untrained() -> Found:
    """Claim 11: mean and deviation over seeds, each within four of its standard errors."""
    tables = [panel(fresh("learned", seed=seed)).cosine_by_lag[:6] for seed in range(DRAWS)]
    found = np.array(tables, dtype=float)
    for lag in (1, 2, 6):
        expected = (WIDTH * (ROWS - lag)) ** -0.5
        cosines = found[:, lag - 1]
        error = expected / DRAWS**0.5
        yield near(f"k {lag}: mean of {DRAWS} tables", cosines.mean(), 0, within=4 * error)
        deviation = float(cosines.std(ddof=1))
        yield near(f"k {lag}: deviation", deviation, expected, within=4 * error / 2**0.5)
    smooth = [each or 0 for each in panel(sinusoid(ROWS, width=WIDTH)).cosine_by_lag]
    rough = [each or 0 for each in panel(fresh("learned", seed=0)).cosine_by_lag]
    lines = {"fixed sinusoid": smooth, "fresh learned table": rough}
    yield Plot(title="Cosine of rows p and p+k before training", across="distance k", lines=lines)


def controlled() -> Found:
    """Claim 12, the part that needs no training: what a table must be compared with."""
    rows = sinusoid(ROWS, width=WIDTH)
    draws = [controls(rows, seed=seed).shuffled for seed in range(SHUFFLES)]
    plain = float(np.mean([draw.adjacent_cosine or np.nan for draw in draws]))
    centred = float(np.mean([draw.centred_adjacent_cosine or np.nan for draw in draws]))
    yield near("shuffled sinusoid, plain", plain, 0.55, within=0.02)
    yield near("shuffled sinusoid, centred", centred, 0, within=0.02)
    yield above("sinusoid in order, centred", panel(rows).centred_adjacent_cosine or 0, 0.9)


def never_trained() -> Found:
    """Claim 18."""
    for name, decay in (("no decay", 0.0), ("decay .1", 0.1)):
        steps = trained(
            "position.rows=11",
            optimizer="adamw",
            decay=decay,
            batches=[torch.tensor([[3, 1, 4, 1, 5, 9, 2]])] * 50,
        )
        gradient = steps.position_gradient
        yield equal(f"{name}: rows with gradient", _rows(gradient != 0), list(range(7)))
        ratio = (steps.position_rows / steps.first_position_rows)[7:]
        if decay:
            shrunk = (1 - 0.01 * decay) ** 50
            words = f"{name}: rows 7..10 over initial ones"
            yield near(words, ratio.mean().item(), shrunk, within=1e-4)
        else:
            moved = _rows(steps.position_rows != steps.first_position_rows)
            yield equal(f"{name}: rows that moved", moved, list(range(7)))


def _rows(where: Tensor) -> list[int]:
    return where.any(dim=1).nonzero().flatten().tolist()


def either() -> Found:
    """Claim 23, the part that needs no training."""
    rows = 64
    for option, trained_count, kept in (("learned", 4096, 0), ("sinusoidal", 0, 4096)):
        scheme = parts.scheme(option, rows=rows, width=WIDTH)
        yield equal(f"{option}: parameters, 64 x 64", parts.parameters(scheme), trained_count)
        stored = sum(buffer.numel() for buffer in scheme.buffers())
        yield equal(f"{option}: elements of buffers", stored, kept)
        measured = panel(parts.rows_of(scheme, rows))
        yield told(f"{option}: neighbour cosine before training", measured.adjacent_cosine or 0)
    yield from past_the_table(rows)


QUESTIONS = (
    Question(
        number=11,
        question="Is a fresh learned table smooth?",
        says="Near random: its rows are drawn independently.",
        right="Yes: mean 0, with a deviation of 1/sqrt(D (M-k)), .0111 at 64 x 128 and k 1.",
        live=untrained,
    ),
    Question(
        number=12,
        question="Does a trained learned table become smooth?",
        says="It usually grows a smooth structure, but has to find it in the data.",
        right="It does, given enough steps; but the plain cosine misleads. Rows of a sinusoid in "
        "random order still score .55, for the mean they share. Centred rows, initial rows and "
        "shuffled ones belong beside it.",
        live=controlled,
        trained=smoothness,
        by_training=True,
        command="python -m andrea_exp -m name=smooth position=learned trainer.max_steps=3000 "
        "seed=0,1,2,3,4,5",
    ),
    Question(
        number=18,
        question="What becomes of rows past the trained length?",
        says="Row T does not exist if training stopped at T-1.",
        right="Two lengths are mixed: a table may be longer than what is trained. Then its rows "
        "T..M-1 exist, never get gradient, stay as they were drawn (with decay they shrink, here "
        "to .9512) and are read without an error unless a policy forbids it, as here.",
        live=never_trained,
    ),
    Question(
        number=23,
        question="Exercise: learned versus sinusoidal?",
        says="A table of parameters, bounded by its length, against a formula for any position.",
        right="Parameters, buffer, smoothness and what happens at M+1 can be read off at once, and "
        "here they are. Which of the two has the lower loss, in T and past it, is a measurement "
        "that the lesson announces and does not make.",
        live=either,
        trained=losses_in_and_past,
        command="python -m andrea_exp -m name=versus position=learned_clamp,sinusoidal,"
        "sinusoidal_raw seed=0,1,2,3,4,5",
    ),
)
