"""Which rows learn: claims 15, 16 and 17."""

import math

import torch
from torch import Tensor

from andrea_exp.lesson import parts
from andrea_exp.lesson.claim import Found, Question, equal, near
from andrea_exp.lesson.steps import Steps, trained

EARLY = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 3, 5, 1]])
LATE = torch.tensor([[6, 7, 8, 6, 7], [0, 1, 1, 0, 1]])
USED = sorted({*EARLY.flatten().tolist()})
ONCE = [2, 3, 4, 5, 9]
"""In EARLY and not in LATE."""
NEVER = list(range(10, 19))
VOCAB = 19


def used_rows() -> Found:
    """Claim 15."""
    model = parts.changed(parts.composed(*parts.SMALL), position="learned").build_model()
    table, places = model.embedding.token_rows(), model.position.table()
    assert places is not None
    ids = torch.tensor([[1, 2, 1]])
    vectors = model.embedding(ids, model.position.rows(parts.first(3)))
    of_tokens, _ = torch.autograd.grad(vectors.sum(), [table, places])
    yield equal("ids 1 2 1: gradient of rows 0..3", of_tokens[:4, 0].tolist(), [0.0, 2.0, 1.0, 0.0])
    vectors = model.embedding(EARLY, model.position.rows(parts.first(5)))
    (of_places,) = torch.autograd.grad(vectors.sum(), [places])
    counts = [2.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.0]
    yield equal("B 2, T 5: gradient of position rows 0..6", of_places[:, 0].tolist(), counts)
    step = trained(optimizer="sgd", decay=0.0, batches=[EARLY])
    found = _rows(step.token_gradient != 0)
    yield equal("untied, one step: token rows with gradient", found, USED)


def _rows(where: Tensor) -> list[int]:
    return where.any(dim=1).nonzero().flatten().tolist()


def every_row() -> Found:
    """Claim 16."""
    step = trained("output=tied", optimizer="sgd", decay=0.0, batches=[EARLY])
    found = len(_rows(step.token_gradient != 0))
    yield equal(f"tied, one step: rows with gradient, of {VOCAB}", found, VOCAB)
    step = trained(optimizer="sgd", decay=0.0, batches=[EARLY])
    untied = len(_rows(step.token_gradient != 0))
    yield equal(f"untied, one step: rows with gradient, of {VOCAB}", untied, len(USED))


BATCHES = [EARLY, LATE, LATE, LATE]
RATES = [0.01, 0.03, 0.002, 0.02]


def without_gradient() -> Found:
    """Claim 17."""
    plain = trained(optimizer="sgd", momentum=0.0, decay=0.0, batches=BATCHES, rates=RATES)
    adam = trained(optimizer="adamw", decay=0.0, batches=BATCHES, rates=RATES)
    decayed = trained(optimizer="adamw", decay=0.1, batches=BATCHES, rates=RATES)
    heavy = trained(optimizer="sgd", momentum=0.9, decay=0.0, batches=BATCHES)
    for name, steps in (("plain descent", plain), ("Adam", adam)):
        moved = _moved(steps, since=0)
        yield equal(f"{name}: rows never seen that moved", len({*NEVER} & {*moved}), 0)
        yield equal(f"{name}: rows seen that moved", len(moved), VOCAB - len(NEVER))
    ratio = (decayed.token_rows[-1] / decayed.token_rows[0])[NEVER].mean().item()
    product = math.prod(1 - 0.1 * rate for rate in RATES)
    yield near("AdamW, decay .1: rows never seen, over initial", ratio, product, within=1e-6)
    still = len({*ONCE} & {*_moved(plain, since=1)})
    yield equal("plain descent: rows seen earlier that move on", still, 0)
    for name, steps in (("momentum", heavy), ("Adam", adam)):
        on = len({*ONCE} & {*_moved(steps, since=1)})
        yield equal(f"{name}: rows seen earlier that move on", on, len(ONCE))
    one, later = heavy.token_rows[1], heavy.token_rows[-1]
    carried = ((later - one) / (one - heavy.token_rows[0]))[ONCE].median().item()
    series = 0.9 + 0.9**2 + 0.9**3
    yield near("momentum .9: three steps over the last one", carried, series, within=0.003)


def _moved(steps: Steps, *, since: int) -> list[int]:
    """Rows that are not bit-identical to what they were after this many steps."""
    return _rows(steps.token_rows[since] != steps.token_rows[-1])


QUESTIONS = (
    Question(
        number=15,
        question="Which rows get gradient?",
        says="Only those that the forward pass read; a row whose id is absent gets zero.",
        right="True of gradients with an untied output (claims 16 and 17 for the rest). It adds up "
        "over repeated ids, and a position row gets one share per sequence.",
        live=used_rows,
    ),
    Question(
        number=16,
        question="Which rows does a tied output reach?",
        says="Every row, in every backward pass, through the output side.",
        live=every_row,
    ),
    Question(
        number=17,
        question="Does a row without gradient stay as it is?",
        says="A row whose id is absent is not updated in that step.",
        right="With plain descent, bit for bit. But a dense AdamW shrinks rows that were never "
        "seen by the product of 1 - lr wd over the steps, and momentum moves on rows that were "
        "seen earlier.",
        live=without_gradient,
    ),
)
