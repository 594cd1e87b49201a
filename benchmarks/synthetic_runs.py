"""Run directories with plausible numbers, made without training: for tests and benchmarks."""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from andrea_exp.claims.registration import claims_hash
from andrea_exp.record.frozen import FrozenConfig
from andrea_exp.record.manifest import DataIdentity, Failure, Git, Manifest, Platform, Status

T, D, V = 64, 128, 257
FACTORS = (0.5, 1.0, 2.0, 4.0, 8.0)
UNIGRAM, BIGRAM = 3.041, 2.338
# scheme -> (what happens past T, loss at T, rise at 2T, rise at 8T, has a table)
SCHEMES = {
    "alibi": ("same function", 1.68, 0.005, 0.009, False),
    "learned": ("error", 1.62, 1.55, 1.64, True),
    "none": ("nothing to extend", 1.72, 0.21, 0.95, False),
    "rope": ("formula", 1.60, 0.52, 1.83, False),
    "sinusoidal": ("formula", 1.61, 2.19, 2.02, True),
}


def make_run(
    parent: Path,
    *,
    position: str = "learned",
    output: str = "tied",
    seed: int = 0,
    status: Status = Status.completed,
    name: str = "demo",
    job: str | None = None,
    steps: int = 500,
    fingerprint: str = "5f2d9c1ab77e4403",
    python: str = "3.11.7",
    settings: Mapping[str, Any] | None = None,
    words: Sequence[str] = (),
    argv: Sequence[str] = (),
    with_results: bool = True,
    experiment: Mapping[str, Any] | None = None,
    started_at: str = "2026-01-02T03:04:05.678+00:00",
) -> Path:
    """One run directory; everything in it is a function of the arguments."""
    draw = random.Random(f"{position} {output} {seed} {settings}")
    folder = parent / (job or f"position={position},output={output},seed={seed}")
    folder.mkdir(parents=True)
    choices = {"position": position, "output": output, "system": "toy", "data": "stdlib"}
    config = {
        "seed": seed,
        "name": name,
        "outputs": "outputs",
        "question": None,
        "model": {"d_model": D, "num_layers": 2, "num_heads": 4, "context": T},
        "position": {"name": position},
        "output": {"name": output},
        "data": {"name": "stdlib", "batch_size": 32},
        "trainer": {"max_steps": 500},
        "optimizer": {"lr": 0.003, **(settings or {})},
        "runtime": {"device": "cpu"},
        **(experiment or {"seeds": [], "claims": []}),
    }
    frozen = FrozenConfig(
        recipe_hash=f"{draw.getrandbits(48):012x}",
        choices=choices,
        config=config,
        claims_hash=claims_hash(config),
    )
    (folder / "config.yaml").write_text(frozen.text())
    manifest = _manifest(choices, seed=seed, status=status, fingerprint=fingerprint, python=python)
    manifest = replace(
        manifest,
        argv=[*(argv or manifest.argv)],
        overrides=[*manifest.overrides, *words],
    )
    if manifest.started_at is not None:
        manifest = replace(manifest, started_at=started_at)
    (folder / "manifest.json").write_text(manifest.text())
    if status is not Status.pending:
        (folder / "metrics.jsonl").write_text(_metrics(position, draw, steps=steps, status=status))
    if status is Status.completed and with_results:
        text = json.dumps(results(position, output, draw))
        (folder / "results.json").write_text(text)
    return folder


def make_sweep(parent: Path) -> Path:
    """5 schemes x 2 outputs x 2 seeds, of which four left no results, each for another reason."""
    special = {
        ("rope", "untied", 1): Status.failed,
        ("none", "tied", 0): Status.nan,
        ("learned", "untied", 1): Status.pending,
    }
    for position in SCHEMES:
        for output in ("tied", "untied"):
            for seed in (0, 1):
                make_run(
                    parent,
                    position=position,
                    output=output,
                    seed=seed,
                    status=special.get((position, output, seed), Status.completed),
                    with_results=(position, output, seed) != ("alibi", "tied", 1),
                    steps=190 if (position, output, seed) in special else 500,
                    name="ablation",
                )
    return parent


def _manifest(
    choices: dict[str, str], *, seed: int, status: Status, fingerprint: str, python: str
) -> Manifest:
    overrides = [f"position={choices['position']}", f"output={choices['output']}", f"seed={seed}"]
    new = Manifest.pending(
        seed=seed,
        argv=["python", "-m", "andrea_exp", *overrides],
        overrides=overrides,
        choices=choices,
    )
    if status is Status.pending:
        return new
    failure = Failure(type="ValueError", message="heads <b>do not</b> divide the width")
    return replace(
        new,
        status=status,
        started_at="2026-01-02T03:04:05.678+00:00",
        git=Git(sha="0123456789abcdef" * 2 + "01234567", dirty=True, patch="git.patch"),
        packages={"torch": "2.13.0", "andrea_exp": "0.1.0"},
        platform=Platform(system="Linux 6.1", machine="x86_64", python=python),
        device="a processor",
        threads=2,
        kernel={"attention": "torch", "embedding": "torch", "cross_entropy": "torch"},
        data=DataIdentity(name="stdlib", fingerprint=fingerprint, tokens=5_900_000),
        deterministic=True,
        failure=failure if status is Status.failed else None,
    )


def _metrics(position: str, draw: random.Random, *, steps: int, status: Status) -> str:
    lines: list[str] = []
    end = SCHEMES[position][1]
    for step in range(10, steps + 1, 10):
        loss: float | str = end + (math.log(V) - end) * math.exp(-step / 60) + draw.gauss(0, 0.02)
        if status is Status.nan and step == steps:
            loss = "NaN"
        row = {
            "step": step,
            "tokens": step * 32 * T,
            "train_loss_nats": loss,
            "lr": 0.003,
            "grad_norm": 0.8,
            "clipped": 0.1,
            "elapsed_s": step * 0.05,
            "tokens_per_s": 45_000.0,
            **_probe(position, step=step, loss=end + 3 * math.exp(-step / 60)),
        }
        lines.append(json.dumps(row) + "\n")
    return "".join(lines)


def _probe(position: str, *, step: int, loss: float) -> dict[str, float]:
    if position != "learned":
        return {"val_loss_nats": loss}
    done = 1 - math.exp(-step / 80)
    return {
        "adjacent_cosine": 0.75 * done,
        "centred_adjacent_cosine": 0.66 * done,
        "d2_over_d1": 1.73 - 0.06 * done,
        "effective_rank": 49 - 45 * done,
        "val_loss_nats": loss,
    }


def results(position: str, output: str, draw: random.Random) -> dict[str, Any]:
    """The content of `results.json`."""
    loss = SCHEMES[position][1] + draw.gauss(0, 0.008)
    return {
        "schema": 1,
        "cost": _cost(position, output),
        "lengths": _lengths(position, loss, draw),
        "smoothness": _smoothness(position, draw),
        "geometry": _geometry(output, draw),
        "order": _order(draw),
        "throughput": {
            "tokens_per_s": 45_000 + draw.gauss(0, 900),
            "step_ms_median": 44.7,
            "first_step_s": 0.31,
            "peak_memory_mb": 812.0,
        },
        "final": {
            "train_loss_nats": loss - 0.03,
            "val_loss_nats": loss,
            "floor_nats": None,
            "unigram_nats": UNIGRAM,
            "uniform_nats": math.log(V),
            "bigram_nats": BIGRAM,
        },
    }


def _cost(position: str, output: str) -> dict[str, Any]:
    parts = {
        "token_embedding": V * D,
        "position": T * D if position == "learned" else 0,
        "blocks": 2 * 12 * D * D,
        "norms": 5 * D,
        "output": V * D if output == "untied" else 0,
    }
    total = sum(parts.values())
    return {
        "total": total,
        "trainable": total,
        **parts,
        "tied_shared": 0 if output == "untied" else V * D,
        "buffers": T * D if position == "sinusoidal" else 0,
        "padding_rows": 0,
        "nominal": None,
        "fraction": {
            "of_total": {key: part / total for key, part in parts.items()},
            "of_nominal": None,
        },
        "bytes_weights": 4 * total,
        "bytes_optimizer": 8 * total,
        "flops_per_token": 6 * total,
    }


def _lengths(position: str, loss: float, draw: random.Random) -> list[dict[str, Any]]:
    past, _, near, far, _ = SCHEMES[position]
    policies = [past, "clamp"] if position == "learned" else [past]
    rows: list[dict[str, Any]] = []
    for factor in FACTORS:
        for beyond in policies if factor > 1 else policies[:1]:
            share = (math.log2(factor) - 1) / 2
            rise = near + (far - near) * share if factor > 1 else 0.02 * (1 - factor)
            rise = rise + draw.gauss(0, 0.02) if factor > 1 else rise
            rows += [_row(factor, beyond, p, loss=loss, rise=rise) for p in ("block", "sliding")]
    return rows


def _row(factor: float, beyond: str, protocol: str, *, loss: float, rise: float) -> dict[str, Any]:
    length = int(T * factor)
    refused = beyond == "error" and factor > 1
    shift = 0.08 if protocol == "sliding" else 0.0
    measured = {
        "loss_nats": loss + rise - shift,
        "loss_se": 0.004,
        "tail_loss_nats": loss + rise - 0.06,
        "rise_nats": rise,
        "rise_se": 0.0 if factor == 1 else 0.013,
        "accuracy": 0.55,
        "exact_match": None,
        "tokens_scored": 65_536 if factor == 1 and protocol == "block" else 16_384,
        "per_position": [
            {
                "start": start,
                "stop": start + 4,
                "loss_nats": loss + 1.4 / (1 + start / 4) + (rise if start >= T else -0.1),
                "tokens": 1024,
            }
            for start in range(0, length, 4)
        ],
    }
    return {
        "length": length,
        "factor": factor,
        "protocol": protocol,
        "stride": min(length, T // 4) if protocol == "sliding" else None,
        "beyond": beyond,
        "status": "refused" if refused else "ok",
        "reason": f"a sequence of {length} exceeds the {T} trained positions" if refused else None,
        **(dict.fromkeys(measured) if refused else measured),
    }


def _smoothness(position: str, draw: random.Random) -> dict[str, Any]:
    keys = ("table", "init", "trained", "change", "controls", "permutation", "drift")
    keys += ("overlap", "row_cosines", "hidden_mean")
    if not SCHEMES[position][4]:
        return dict.fromkeys(keys) | {"hidden_mean": _hidden_mean(position, draw)}
    wave = _panel(lambda lag: 0.5 + 0.45 * math.cos(lag / 9) * math.exp(-lag / 60))
    noise = _panel(lambda lag: 0.03 * math.sin(7 * lag + draw.random()))
    own = _panel(lambda lag: 0.72 * math.exp(-lag / 12) - 0.05)
    return {
        "table": f"{position} rows 0..{T - 1}",
        "init": noise if position == "learned" else wave,
        "trained": own if position == "learned" else wave,
        "change": own if position == "learned" else None,
        "controls": {
            "sinusoid": {**wave, "d2_over_d1": 0.727},
            "iid": noise,
            "shuffled": _panel(lambda lag: 0.18 + 0.02 * math.sin(3 * lag)),
            "random_walk": _panel(lambda lag: math.exp(-lag / 45)),
        },
        "permutation": {"shuffles": 200, "mean": -0.004, "max": 0.17, "p": 1 / 201},
        "drift": _drift() if position == "learned" else None,
        "overlap": {
            "k": 17,
            "cosines": [0.5] * 17,
            "mean_squared_cosine": 0.25,
            "random": 17 / D,
        },
        "row_cosines": {
            "rows": list(range(0, T, 8)),
            "trained": [[round(0.7 ** (i - k), 3) for k in range(i + 1)] for i in range(T // 8)],
            "sinusoid": [[round(math.cos(i - k), 3) for k in range(i + 1)] for i in range(T // 8)],
        },
        "hidden_mean": _hidden_mean(position, draw),
    }


def _hidden_mean(position: str, draw: random.Random) -> dict[str, Any]:
    has_rows = SCHEMES[position][4]

    def layer(name: str, share: float) -> dict[str, Any]:
        return {
            "layer": name,
            "adjacent_cosine": 0.97,
            "centred_adjacent_cosine": 0.7 + draw.gauss(0, 0.01),
            "d2_over_d1": 1.1,
            "effective_rank": 5.2,
            "position_share": share,
            "noise_share": 1.04 if share < 0.01 else 0.06,
            "offset": [share**0.5 / (1 + place / 9) for place in range(T)],
        }

    def scale(tokens: float, positions: float) -> dict[str, Any]:
        ratio = {"position_norm": positions, "ratio": positions / tokens}
        return {"token_norm": tokens, **(ratio if has_rows else dict.fromkeys(ratio))}

    first = 0.06 if has_rows else 0.002
    shares = {"embedding": first, "block 1": 0.03, "block 2": 0.02, "head": 0.021}
    return {
        "windows": 512,
        "layers": [layer(name, share) for name, share in shares.items()],
        "input_init": scale(0.9, 0.23),
        "input_trained": scale(1.2, 0.84),
    }


def _geometry(output: str, draw: random.Random) -> dict[str, Any]:
    tied = output == "tied"
    return {
        "tied": tied,
        "input": _token_rows(draw, rise=0.3),
        "output": None if tied else _token_rows(draw, rise=0.6),
    }


def _token_rows(draw: random.Random, *, rise: float) -> dict[str, Any]:
    def products(cosine: float, norm: float) -> dict[str, float]:
        dot = cosine * norm * norm
        return {"first_norm": norm, "second_norm": norm, "dot": dot, "cosine": cosine}

    def classes(difference: float) -> dict[str, Any]:
        to = {"weekdays": 0.0, "instruments": 0.1}
        return {"within": difference + 0.05, "across": 0.05, "to": to, "difference": difference}

    before, after = draw.gauss(0, 0.02), rise + draw.gauss(0, 0.03)
    near = [{"token": "pet", "cosine": 0.71}, {"token": "<dog>", "cosine": 0.5}]
    return {
        "random_cosine_sd": D**-0.5,
        "pairs": [
            {
                "first": "cat",
                "second": second,
                "init": products(draw.gauss(0, D**-0.5), 0.9),
                "trained": products(cosine, 1.3),
            }
            for second, cosine in (("dog", 0.66), ("Tuesday", 0.02))
        ],
        "contrast": {
            "name": "pets",
            "init": classes(before),
            "trained": classes(after),
            "rise": after - before,
        },
        "neighbours": [{"token": "cat", "nearest": near}, {"token": "dog", "nearest": []}],
    }


def _order(draw: random.Random) -> dict[str, Any]:
    rise = 0.4 + draw.gauss(0, 0.02)
    return {
        "windows": 256,
        "change_nats": 0.52,
        "loss_nats": 1.6,
        "permuted_loss_nats": 1.6 + rise,
        "rise_nats": rise,
        "rise_se": 0.05,
    }


def _drift() -> dict[str, Any]:
    """Of a table of 2T rows."""
    return {
        "relative": [1.3 + math.exp(-row / 6) for row in range(T)] + [0.079] * T,
        "one_minus_cosine": [0.4] * T + [0.0] * T,
        "decay_floor": 0.079,
        "first_untrained_row": T,
    }


def _panel(cosine: Callable[[float], float]) -> dict[str, Any]:
    cosines = [cosine(lag) for lag in range(1, T // 2 + 1)]
    return {
        "adjacent_cosine": cosines[0],
        "centred_adjacent_cosine": cosines[0] - 0.05,
        "cosine_by_lag": cosines,
        "centred_cosine_by_lag": [value - 0.05 for value in cosines],
        "d1": 1.2,
        "d1_centred": 1.3,
        "d2": 2.0,
        "d2_over_d1": 1.67,
        "effective_rank": 3.6,
        "k95": 17,
        "high_frequency_energy": 0.31,
        "translation_invariance": 1.7,
        "translation_invariance_by_lag": [1.7] * len(cosines),
        "row_norms": [1.0] * T,
    }
