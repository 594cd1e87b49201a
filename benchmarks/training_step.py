"""Whole training steps of several compositions, in turn in one sitting: milliseconds and memory.

    python -m benchmarks.training_step system=toy -- kernel=torch -- kernel=torch model.compile=true

Words before the first `--` hold for all compositions, and each `--` begins the words of one. A step
is what the product does in one: the losses of a batch, the gradients, clipping by norm, the
optimizer. Left out are reading data (ids are random, and there already), the loop of Lightning
around the step, logging, probes and checkpoints; and accumulation, so a step is one batch.

Rounds go through the compositions in turn, each of which takes one step; ratios are of steps in the
same round. Peak memory is that of torch's allocator beyond the weights, the gradients' included.
"""

# ruff: noqa: E402 - torch reads the setting when it is imported

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from andrea_exp.command import DONE, finish, let_waiting_threads_sleep

let_waiting_threads_sleep()  # as a training does

import torch
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from andrea_exp.assemble import Run
from andrea_exp.bench.clock import clock_of
from andrea_exp.bench.memory import peak_bytes
from andrea_exp.bench.rounds import in_turn, spread
from andrea_exp.component import Refusal
from andrea_exp.config.request import request
from andrea_exp.optimizer.groups import parameter_groups
from andrea_exp.report.format import significant
from andrea_exp.seeding import torch_generator
from andrea_exp.train.config import Precision
from andrea_exp.train.devices import claimed
from andrea_exp.train.runtime import settings


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, or 2 for a wrong request."""
    words = sys.argv[1:] if argv is None else list(argv)
    before, *others = split(words)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.training_step",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("overrides", nargs="*", help="of every composition")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each, warm-up aside")
    arguments = parser.parse_intermixed_args(before)
    return finish(lambda: answer(arguments.overrides, others, seconds=arguments.seconds))


def split(words: Sequence[str]) -> list[list[str]]:
    """The words before the first `--`, and those after each."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == "--":
            found.append([])
        else:
            found[-1].append(word)
    return found


def answer(common: Sequence[str], others: Sequence[Sequence[str]], *, seconds: float) -> int:
    """Compare, and print a line for each."""
    runs = {" ".join(own) or "as it is": composed([*common, *own]) for own in others or [[]]}
    runtimes = {run.config.running.runtime for run in runs.values()}
    if len(runtimes) > 1:
        raise Refusal("one sitting has one runtime: give it before the first --")
    device = next(iter(runs.values())).device
    clock = clock_of(device)
    one = replace(runtimes.pop(), devices=1)
    with claimed(one), settings(one):
        steps = {name: step_of(run) for name, run in runs.items()}
        for step in steps.values():
            step()  # the optimizer makes its state, and torch.compile its code
        peaks = {name: peak_bytes(step, device) for name, step in steps.items()}
        found = in_turn(steps, clock, budget_ms=1000 * seconds)
    first = next(iter(found.values()))
    for name, times in found.items():
        ratio = spread([own / beside for own, beside in zip(times, first, strict=True)])
        own = spread(times)
        print(
            f"{name}: {significant(own.median)} ms "
            f"({significant(own.q1)} to {significant(own.q3)}), "
            f"{ratio.median:.3f} of the first ({ratio.q1:.3f} to {ratio.q3:.3f}), "
            f"peak {peaks[name] / 1e6:,.1f} MB, {len(times)} rounds"
        )
    return DONE


def composed(words: Sequence[str]) -> Run:
    """A run that can be trained here."""
    run = Run(request(words).config)
    run.check_parts()
    return run


def step_of(run: Run) -> Callable[[], None]:
    """One step of a training, at a rate of 0: weights and so the work stay what they are."""
    recipe, device = run.recipe, run.device
    model = run.build_model().train()
    losses = torch.compile(model.losses) if recipe.model.compile else model.losses
    optimizer = recipe.optimizer.build(parameter_groups(model))
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    shape = (run.use().batch, recipe.model.context)
    draw = torch_generator(recipe.seed, "benchmark/training step")
    ids = torch.randint(model.sizes.used_vocab, (2, *shape), generator=draw).to(device)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    halved = recipe.trainer.precision is Precision.bf16

    def step() -> None:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=halved):
            loss = losses(ids[0], ids[1]).mean()
        loss.backward()
        norm = get_total_norm([each.grad for each in trained if each.grad is not None])
        torch.stack([loss.detach(), norm]).tolist()  # training waits here, to look at both
        if recipe.trainer.clip_norm is not None:
            clip_grads_with_norm_(trained, recipe.trainer.clip_norm, norm)
        optimizer.step()
        optimizer.zero_grad()

    return step


if __name__ == "__main__":
    sys.exit(main())
