"""What training decides, read from the results of runs: claims 22 and 24, and parts of others."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from andrea_exp.lesson.claim import Found, Plot, Question, told
from andrea_exp.lesson.runs import (
    against,
    arms_with,
    differences,
    direction,
    has_scheme,
    is_tied,
    known,
    length_row,
    loss,
    losses,
    twins,
)
from andrea_exp.position.alibi import AlibiConfig
from andrea_exp.position.learned import LearnedConfig
from andrea_exp.position.sinusoidal import SinusoidalConfig
from andrea_exp.report.arms import factors, policies
from andrea_exp.report.format import multiple
from andrea_exp.report.table import Run, Table


def losses_by_output(table: Table) -> Found:
    """Claim 21: tied minus untied."""
    yield from against(table, group="output", reference=lambda run: not is_tied(run))


def losses_by_position(table: Table) -> Found:
    """Claim 22: every scheme beside a learned table."""
    schemes = {run.name.scheme for run in table.completed}
    if len(schemes) > 1:
        yield from losses(table.arms)
        yield from against(
            table, group="position", reference=lambda run: has_scheme(run, LearnedConfig)
        )


def losses_by_std(table: Table) -> Found:
    """Claim 28: the same runs with token rows of another initial standard deviation."""
    found: dict[str, list[float]] = {}
    for runs in twins(table, group="embedding"):
        stds = {str(run.record.config["embedding"]["std"]) for run in runs}
        for run in runs if len(stds) > 1 else []:
            std = run.record.config["embedding"]["std"]
            name = "1/sqrt(D)" if std is None else f"{std:g}"
            found.setdefault(name, []).extend(known([loss(run)]))
    means = {name: fmean(numbers) for name, numbers in found.items() if numbers}
    for name, mean in means.items():
        yield told(f"std {name}: loss at T, nats, {len(found[name])} runs", mean)
    if means:
        yield told("spread over std, nats", max(means.values()) - min(means.values()))


def losses_in_and_past(table: Table) -> Found:
    """Claim 23: learned and fixed rows, at T and past it, with the policy past T."""
    for policy in policies(table):
        runs = table.arms[policy.arm]
        if not any(has_scheme(runs[0], cls) for cls in (LearnedConfig, SinusoidalConfig)):
            continue
        shown = [factor for factor in factors(table) if factor >= 1]
        each = {factor: known(policy.numbers("loss_nats", factor=factor)) for factor in shown}
        means = {factor: fmean(numbers) for factor, numbers in each.items() if numbers}
        lengths = ", ".join(multiple(factor) for factor in means)
        yield told(f"{policy.label}: loss at {lengths}, nats", list(means.values()))


def rises(table: Table) -> Found:
    """Claim 24: how much the loss of the same targets rises in windows longer than T."""
    longer = [factor for factor in factors(table) if factor > 1]
    for policy in policies(table):
        each = {factor: known(policy.numbers("rise_nats", factor=factor)) for factor in longer}
        means = {factor: fmean(numbers) for factor, numbers in each.items() if numbers}
        if means:
            lengths = ", ".join(multiple(factor) for factor in means)
            yield told(f"{policy.label}: rise at {lengths}, nats", list(means.values()))
    for factor in longer[:1]:
        yield from _expected_rises(table, factor=factor)


def _expected_rises(table: Table, *, factor: float) -> Found:
    def rise(run: Run) -> float | None:
        return length_row(run, factor=factor).get("rise_nats")

    length = multiple(factor)
    for arm, runs in arms_with(table, SinusoidalConfig).items():
        yield from direction(f"{arm}: rise at {length}", known([rise(run) for run in runs]))
    beside = differences(
        table, group="position", reference=lambda run: has_scheme(run, AlibiConfig), of=rise
    )
    for arm in arms_with(table, SinusoidalConfig):
        for (one, other), numbers in beside.items():
            if one == arm:
                yield from direction(f"rise at {length}, {arm} minus {other}", numbers)


def smoothness(table: Table) -> Found:
    """Claim 12: neighbour cosine of trained rows, beside their own initial and shuffled ones."""
    for arm, runs in arms_with(table, LearnedConfig).items():
        panels = [run.part("smoothness") for run in runs if run.part("smoothness").get("trained")]
        for words, key in (("plain", "adjacent_cosine"), ("centred", "centred_adjacent_cosine")):
            states = {
                "at init": [panel["init"][key] for panel in panels],
                "trained": [panel["trained"][key] for panel in panels],
                "trained rows shuffled": [panel["controls"]["shuffled"][key] for panel in panels],
            }
            for state, numbers in states.items():
                if known(numbers):
                    yield told(f"{arm}: {words}, {state}", fmean(known(numbers)))
        yield from _smoother(arm, panels)


def _smoother(arm: str, panels: list[Mapping[str, Any]]) -> Found:
    key = "centred_adjacent_cosine"
    rises = [panel["trained"][key] - panel["controls"]["shuffled"][key] for panel in panels]
    yield from direction(f"{arm}: centred, trained minus shuffled", rises)
    if panels:
        lines = {
            state: known(panels[0][state]["centred_cosine_by_lag"]) for state in ("init", "trained")
        }
        yield Plot(title=f"{arm}: centred cosine", across="distance k", lines=lines)


def speed(table: Table) -> Found:
    """Claim 27: tokens per second and memory of every arm."""
    for arm, runs in table.arms.items():
        for key, words in (
            ("tokens_per_s", "trained tokens per second"),
            ("peak_memory_mb", "peak memory, MB"),
        ):
            numbers = known([run.part("throughput").get(key) for run in runs])
            if numbers:
                yield told(f"{arm}: {words}", fmean(numbers))


QUESTIONS = (
    Question(
        number=22,
        question="Is a learned table enough at a fixed length?",
        says="Yes: T is capped, and there a learned table does well.",
        right="A measurement: the loss at T of each scheme, paired by seed, with the sinusoid at "
        "the tokens' scale beside the raw one, which would also compare scales.",
        trained=losses_by_position,
        by_training=True,
        command="python -m andrea_exp -m name=enough position=learned,sinusoidal,sinusoidal_raw,"
        "rope,alibi,none seed=0,1,2,3,4,5",
    ),
    Question(
        number=24,
        question="Does the sinusoid generalize to any position?",
        says="It extends to any position; and length generalization is a goal of the lesson.",
        right="The formula extends, the loss does not: trained models lose badly past T, ALiBi far "
        "less (Press et al. 2022). The lesson measures nothing of it; here the loss of the same "
        "targets in longer windows is, with the declared policy past T.",
        trained=rises,
        by_training=True,
        command="python -m andrea_exp -m experiment=past_T",
    ),
)
