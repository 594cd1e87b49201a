"""The typed root: the recipe decides the result, the running does not."""

from dataclasses import dataclass, field

from andrea_exp.claims.config import ClaimConfig
from andrea_exp.component import Config, Refusal, between
from andrea_exp.data.base import DataConfig
from andrea_exp.embedding.base import EmbeddingConfig
from andrea_exp.evaluate.config import EvaluationConfig
from andrea_exp.kernel.base import KernelConfig
from andrea_exp.logger.base import LoggerConfig
from andrea_exp.model.config import ModelConfig
from andrea_exp.optimizer.base import OptimizerConfig
from andrea_exp.output.base import OutputConfig
from andrea_exp.position.base import PositionConfig
from andrea_exp.tokenizer.base import TokenizerConfig
from andrea_exp.train.config import RuntimeConfig, TrainerConfig

LARGEST_SEED = 2**63 - 1
"""The largest whole number that a column of integers holds."""


@dataclass(kw_only=True, frozen=True)
class Recipe(Config):
    """Everything that decides the result of a run. Its hash identifies it."""

    seed: int = field(metadata=between(0, LARGEST_SEED))
    """Seed of all random streams."""
    model: ModelConfig
    embedding: EmbeddingConfig
    position: PositionConfig
    output: OutputConfig
    kernel: KernelConfig
    data: DataConfig
    tokenizer: TokenizerConfig | None
    """None exactly if the data has ids of its own."""
    optimizer: OptimizerConfig
    trainer: TrainerConfig
    evaluation: EvaluationConfig

    def __post_init__(self) -> None:
        """Check that probes fall on steps that are logged."""
        super().__post_init__()
        probe, log = self.evaluation.probe_every_steps, self.trainer.log_every_steps
        if probe is not None and probe % log:
            raise Refusal(
                f"evaluation.probe_every_steps={probe} is no multiple of trainer.log_every_steps="
                f"{log}, and probes are columns of logged lines; choose {-(-probe // log) * log}, "
                "or null for none"
            )


@dataclass(kw_only=True, frozen=True)
class SweepConfig(Config):
    """How a sweep treats its jobs."""

    fail_fast: bool
    """Whether the first failed job ends the sweep."""
    wait: bool
    """Whether the command ends with the last job; otherwise once all are with the scheduler."""


@dataclass(kw_only=True, frozen=True)
class Running(Config):
    """Where and how a run is executed; none of it changes the result."""

    name: str
    """Folder inside `outputs` that gathers runs which belong together."""
    outputs: str
    """Where all results go; relative to the current directory."""
    resume: bool
    """Go on with the newest unfinished run of this name and recipe."""
    rerun: bool
    """In a sweep, train every job anew, beside what is there; a single run always is new."""
    question: str | None
    """What an experiment asks."""
    seeds: list[int] = field(metadata=between(0, LARGEST_SEED))
    """Seeds that an experiment plans to run; others are exploratory."""
    claims: list[ClaimConfig]
    """What an experiment claims before its runs."""
    runtime: RuntimeConfig
    logger: LoggerConfig
    sweep: SweepConfig

    def __post_init__(self) -> None:
        """Check that `name` is the name of one visible folder, and that the wishes agree."""
        super().__post_init__()
        if self.resume and self.rerun:
            raise ValueError("resume=true goes on with a run and rerun=true starts anew; give one")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds={self.seeds} names a seed twice; name each once")
        names = [claim.name for claim in self.claims]
        if len(set(names)) < len(names):
            raise ValueError(f"claims have a name of their own each, got {', '.join(names)}")
        if self.claims and not self.seeds:
            raise ValueError("seeds must name those that the claims were written for, got []")
        if not self.name or self.name[0] in ".-" or set(self.name) & set("/\\\0"):
            raise ValueError(
                "name must be a folder's name without a slash or a leading dot or dash, "
                f"got {self.name!r}"
            )
        if len(self.name.encode()) > 100:
            raise ValueError(f"name must have at most 100 bytes, got {len(self.name.encode())}")


@dataclass(kw_only=True, frozen=True)
class RunConfig:
    """The whole configuration of one run."""

    recipe: Recipe
    running: Running

    def __post_init__(self) -> None:
        """Check that data and tokenizer belong together, and that batches can be dealt out."""
        data = type(self.recipe.data)
        if data.has_own_ids() != (self.recipe.tokenizer is None):
            verb = "has ids of its own: leave out" if data.has_own_ids() else "needs"
            raise Refusal(f"data={self.recipe.data.name} {verb} tokenizer=")
        size, devices = self.recipe.data.batch_size, self.running.runtime.devices
        if size % devices:
            raise Refusal(
                f"runtime.devices={devices} does not divide data.batch_size={size}: each process "
                "takes as many rows of a batch as the others; change one of the two"
            )
