"""A training of a few steps, in this process or as a program of its own.

`python -m tests.train.toy FOLDER WORKERS` trains in FOLDER, stops to read a line after the row of
step 4, and prints how it ended.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor
from typing_extensions import override

from andrea_exp.data.base import Batch, Data
from andrea_exp.data.noise import Noise
from andrea_exp.data.stream import BatchStream
from andrea_exp.evaluate.config import EvaluationConfig
from andrea_exp.evaluate.probe import Probe
from andrea_exp.model.decoder import Decoder
from andrea_exp.optimizer.base import OptimizerConfig
from andrea_exp.train.config import RuntimeConfig, TrainerConfig
from andrea_exp.train.fit import fit
from andrea_exp.train.outcome import Outcome
from andrea_exp.train.ranks import Ranks
from andrea_exp.train.training import Sink
from tests import options

VOCAB, BATCH, STEPS, ACCUMULATION = 19, 6, 12, 2
LOG, SAVE = 4, 3
Row = Mapping[str, float]


@dataclass
class Trained:
    """A training and all that it left."""

    outcome: Outcome
    rows: list[Row]
    model: Decoder

    def timeless(self) -> list[Row]:
        """The rows without the columns that a clock fills."""
        return [
            {name: value for name, value in row.items() if not name.endswith("_s")}
            for row in self.rows
        ]

    def weights(self) -> dict[str, Tensor]:
        """The parameters by name."""
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}


def decoder(position: str = "learned", output: str = "tied", **changes: Any) -> Decoder:
    """D 12, 3 heads, T 7, 2 layers, V 19, dropout .1."""
    return options.decoder(
        options.model(**{"dropout": 0.1} | changes),
        position=options.position(position),
        embedding=options.embedding("table"),
        output=options.output(output),
        used_vocab=VOCAB,
    )


def trainer(**changes: Any) -> TrainerConfig:
    """12 steps of two batches; rows every 4 steps, checkpoints every 3."""
    small: dict[str, Any] = {
        "max_steps": STEPS,
        "accumulation": ACCUMULATION,
        "log_every_steps": LOG,
        "checkpoint_every_steps": SAVE,
    }
    return options.typed(TrainerConfig, options.values("trainer", "standard"), **small | changes)


def runtime(**changes: Any) -> RuntimeConfig:
    """One thread on the CPU."""
    return options.typed(
        RuntimeConfig, options.values("runtime", "cpu"), **{"threads": 1} | changes
    )


def optimizer(option: str = "adamw", **changes: Any) -> OptimizerConfig:
    """The option with a warm-up of 3 steps."""
    plain = options.values("optimizer", option)
    schedule = plain["schedule"] | {"warmup_steps": 3}
    return options.typed(OptimizerConfig, plain, **{"schedule": schedule} | changes)


def probe(model: Decoder, *, every_steps: int | None) -> Probe:
    """Of 28 targets of noise."""
    config = options.typed(
        EvaluationConfig,
        options.values("evaluation", "standard"),
        probe_every_steps=every_steps,
        probe_targets=28,
    )
    return Probe(model, Noise(vocab=VOCAB, num_tokens=50).validation(), config=config)


@final
class Weighted(Data):
    """Noise whose targets count differently; all that a training asks of data is `draw`."""

    @property
    @override
    def vocab(self) -> int:
        return VOCAB

    @property
    @override
    def fingerprint(self) -> str:
        raise NotImplementedError

    @property
    @override
    def tokenizer(self) -> None:
        return None

    @property
    @override
    def train_tokens(self) -> None:
        return None

    @property
    @override
    def floor_nats(self) -> None:
        return None

    @override
    def draw(self, rng: np.random.Generator, *, count: int, context: int) -> Batch:
        batch = Batch.from_windows(rng.integers(VOCAB, size=(count, context + 1)))
        weights = torch.from_numpy(rng.random((count, context), dtype=np.float32))
        return batch._replace(weights=weights)

    @override
    def training_sample(self) -> Int64[np.ndarray, " n"]:
        raise NotImplementedError

    @override
    def validation(self) -> Int64[np.ndarray, " n"]:
        raise NotImplementedError


def stream(config: TrainerConfig, *, seed: int = 3, data: Data | None = None) -> BatchStream:
    """By default noise, so that nothing is learned and every batch differs."""
    return BatchStream(
        data=Noise(vocab=VOCAB, num_tokens=50) if data is None else data,
        seed=seed,
        batch_size=BATCH,
        context=options.SMALL["context"],
        num_batches=config.max_steps * config.accumulation,
    )


def train(
    folder: Path,
    *,
    model: Decoder | None = None,
    config: TrainerConfig | None = None,
    machine: RuntimeConfig | None = None,
    ranks: Ranks | None = None,
    rule: OptimizerConfig | None = None,
    seed: int = 3,
    stamp: Mapping[str, str | int] | None = None,
    resume: bool = False,
    sink: Sink | None = None,
    data: Data | None = None,
    probe_every_steps: int | None = None,
) -> Trained:
    """Train, and keep the rows; `sink` sees each of them first."""
    rows: list[Row] = []

    def keep(row: Row) -> None:
        rows.append(dict(row))
        if sink is not None:
            sink(row)

    model = decoder() if model is None else model
    config = trainer() if config is None else config
    outcome = fit(
        model,
        stream(config, data=data),
        optimizer=optimizer() if rule is None else rule,
        trainer=config,
        runtime=runtime() if machine is None else machine,
        ranks=Ranks.alone() if ranks is None else ranks,
        seed=seed,
        checkpoints=folder,
        sink=keep,
        probe=probe(model, every_steps=probe_every_steps),
        stamp={"recipe": "abc", "threads": 1} if stamp is None else stamp,
        resume=resume,
        show_progress=False,
    )
    return Trained(outcome, rows, model)


def main(folder: str, workers: str) -> None:
    """Train and wait for a line at step 4."""

    def pause(row: Row) -> None:
        if row["step"] == LOG:
            say("paused")
            sys.stdin.readline()

    machine = runtime(workers=int(workers))
    say(train(Path(folder), machine=machine, sink=pause).outcome.ended.name)


def say(word: str) -> None:
    """Tell the test that waits."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
