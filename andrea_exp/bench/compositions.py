"""The compositions that a command line asks for, and what each hands to the operations."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor

from andrea_exp.assemble import Run
from andrea_exp.bench.task import Asked
from andrea_exp.component import Refusal
from andrea_exp.config.grid import combinations
from andrea_exp.config.request import request
from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.embedding.sinusoid import Sinusoid
from andrea_exp.report.format import quantity
from andrea_exp.seeding import torch_generator
from andrea_exp.train.runtime import compile_reasons, reasons


@dataclass(kw_only=True, frozen=True)
class Composition:
    """One block of the comparison."""

    label: str
    """What tells it from the others: words of the grid, or how many sequences."""
    run: Run
    use: Use


@dataclass(kw_only=True, frozen=True)
class Compositions:
    """All blocks, and what of the request is left out."""

    blocks: list[Composition]
    left_out: list[str]
    """Keys of an experiment's grid without a value of their own."""


def compositions(overrides: Sequence[str]) -> Compositions:
    """One composition per combination of a grid; without one, of three numbers of sequences.

    Raises:
        Refusal: an override is wrong or chooses a backend, or this machine cannot run what was
            asked for.
    """
    chosen = [word for word in overrides if re.match(r"[+~]*kernel\b", word)]
    if chosen:
        raise Refusal(
            f"{' '.join(chosen)}: every backend is compared, whatever is chosen; leave it out"
        )
    requests = {_label(words, overrides): request(words) for words in combinations(overrides)}
    runs = {label: Run(each.config) for label, each in requests.items()}
    for run in runs.values():
        _refuse(run)
    blocks = [Composition(label=label, run=run, use=run.use()) for label, run in runs.items()]
    if len(blocks) == 1:
        blocks = _ladder(blocks[0])
    composed = next(iter(requests.values())).composed
    return Compositions(
        blocks=blocks, left_out=[key for key in composed.grid if not composed.speaks_of(key)]
    )


def asked(composition: Composition) -> Asked:
    """What the parts of a composition hand to the operations; only the position scheme is built."""
    run, use = composition.run, composition.use
    recipe = run.recipe
    model = run.build_model(vocab=run.known_vocab(), allocate=False)
    seen = _Seen()
    with torch.device("meta"):
        embedding = recipe.embedding.build(sizes=model.sizes, kernel=seen)
        ids, rows = torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, use.width)
        embedding(ids, rows)
    position = recipe.position.build(sizes=model.sizes, token_scale=embedding.scale())
    with torch.no_grad():
        position.initialise(torch_generator(recipe.seed, "init/position"))
    return Asked(
        use=use,
        position=position.to(use.device),
        rows_added=seen.rows_added,
        multiplier=seen.multiplier,
        token_width=seen.width,
        scored_width=model.output.rows(embedding=model.embedding).shape[1],
        seed=recipe.seed,
    )


@final
class _Seen:
    """Stands for the operation `embedding`, and keeps how a token embedding calls it."""

    def __init__(self) -> None:
        self.width = 0
        self.rows_added = False
        self.multiplier = 1.0

    def __call__(
        self, ids: Tensor, table: Tensor, rows: Tensor | Sinusoid | None, *, multiplier: float
    ) -> Tensor:
        self.width, self.rows_added, self.multiplier = table.shape[1], rows is not None, multiplier
        return table.new_zeros(*ids.shape, self.width)


def _label(words: Sequence[str], typed: Sequence[str]) -> str:
    """The words of a combination that the command line has lists for."""
    return " ".join(word for word, whole in zip(words, typed, strict=True) if word != whole)


def _refuse(run: Run) -> None:
    runtime = run.config.running.runtime
    found = reasons(runtime) + (compile_reasons(runtime) if run.recipe.model.compile else [])
    if run.known_vocab() is None:
        found.append(
            "how many ids there are is known from the data alone, which are not read here; give "
            "model.vocab="
        )
    if found:
        raise Refusal("\n".join(found))
    run.build_model(vocab=run.known_vocab(), allocate=False)


def _ladder(whole: Composition) -> list[Composition]:
    """One sequence, a quarter of the batch, all of it."""
    batch = whole.use.batch
    return [
        Composition(
            label=quantity(size, "sequence"), run=whole.run, use=replace(whole.use, batch=size)
        )
        for size in sorted({1, max(1, batch // 4), batch})
    ]
