"""The walk of one run: data, model, training, measures, results."""

import logging
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import final

import torch
from rich.console import Console
from safetensors.torch import save_file

import andrea_exp
from andrea_exp.assemble import Run
from andrea_exp.atomic import replacing, write_atomically
from andrea_exp.config.catalogue import conf_directory
from andrea_exp.config.frozen import thaw
from andrea_exp.data.base import Data
from andrea_exp.evaluate.probe import Probe
from andrea_exp.evaluate.results import Results, Throughput
from andrea_exp.logger.base import Labels, Logger
from andrea_exp.measure import initial, measure
from andrea_exp.model.decoder import Decoder
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.environment import checkout, packages, this_platform
from andrea_exp.record.manifest import DataIdentity, Failure, Git, Manifest, Status, utc_now
from andrea_exp.record.metrics import MetricsFile
from andrea_exp.record.reader import load
from andrea_exp.record.results import write_results
from andrea_exp.report.show import show
from andrea_exp.train.devices import claimed
from andrea_exp.train.fit import fit
from andrea_exp.train.outcome import Ended, Outcome
from andrea_exp.train.peers import gathered, met
from andrea_exp.train.ranks import Ranks
from andrea_exp.train.runtime import device_name, resolve_threads, settings
from andrea_exp.train.training import Sink

_LOG = logging.getLogger(__name__)


@final
class Walk:
    """The walk of one run, from its frozen configuration to its results."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._frozen = directory.config()
        self._run = Run(thaw(self._frozen))

    def run(self) -> Status:
        """Train; if that came to its end, measure and write the results."""
        with claimed(self._run.config.running.runtime) as gpus:
            return self._run_on(gpus)

    def follow(self, *, rank: int, meeting: Path) -> None:
        """Be one of the further processes of the training, which write nothing."""
        data = self._run.load_data()
        model = self._run.build_model(vocab=data.vocab)
        runtime = self._run.config.running.runtime
        with met(meeting, rank=rank, runtime=runtime) as ranks:
            self._fit(model, data=data, ranks=ranks, sink=lambda _row: None)

    def _run_on(self, gpus: list[int]) -> Status:
        run = self._run
        for warning in run.warnings():
            _LOG.warning(warning)
        self._record_start()
        data = run.load_data()
        self._record_data(data)
        model = run.build_model(vocab=data.vocab)
        before = initial(model, data=data, recipe=run.recipe)
        logger = self._open_logger()
        try:
            outcome = self._train(model, data=data, logger=logger, gpus=gpus)
            if outcome.ended is not Ended.completed:
                logger.finish({}, failed=True)
                return self._stopped(outcome)
            console = Console(stderr=True, quiet=not sys.stderr.isatty())
            with settings(run.config.running.runtime), console.status("measuring the model"):
                results = measure(
                    model,
                    recipe=run.recipe,
                    data=data,
                    init=before,
                    train_loss_nats=outcome.train_loss_nats,
                    throughput=_throughput(outcome),
                )
            self._write(model, results=results)
            show(logger, replace(load(self._directory), status=Status.completed))
        except BaseException:
            logger.finish({}, failed=True)
            raise
        logger.finish(asdict(results.final), failed=False)
        self._record(replace(self._manifest, wandb=logger.identity()))
        return Status.completed

    def _train(self, model: Decoder, *, data: Data, logger: Logger, gpus: list[int]) -> Outcome:
        runtime = self._run.config.running.runtime
        another = [sys.executable, "-m", "andrea_exp.rank", str(self._directory.path)]
        with (
            MetricsFile(self._directory.metrics_file) as metrics,
            gathered(another, runtime=runtime, gpus=gpus) as ranks,
        ):
            recorded = metrics.last_step or 0

            def sink(row: Mapping[str, float]) -> None:
                if metrics.append(row):
                    logger.log(row)

            outcome = self._fit(model, data=data, ranks=ranks, sink=sink)
        self._warn_of_lost_rows(recorded, resumed_from=outcome.resumed_from)
        self._record(replace(self._manifest, deterministic=outcome.deterministic))
        return outcome

    def _warn_of_lost_rows(self, recorded: int, *, resumed_from: int) -> None:
        """Say so if rows that the checkpoint is past are not there any more."""
        trainer = self._run.recipe.trainer
        at_end = resumed_from == trainer.max_steps
        due = resumed_from if at_end else resumed_from - resumed_from % trainer.log_every_steps
        if recorded < due:
            _LOG.warning(
                "%s lacks the rows of the steps %d to %d, which were written before the checkpoint "
                "of step %d: the file was removed or cut; only a new run has them again",
                self._directory.metrics_file,
                recorded + 1,
                due,
                resumed_from,
            )

    def _fit(self, model: Decoder, *, data: Data, ranks: Ranks, sink: Sink) -> Outcome:
        recipe, runtime = self._run.recipe, self._run.config.running.runtime
        return fit(
            model,
            self._run.stream(data),
            optimizer=recipe.optimizer,
            trainer=recipe.trainer,
            runtime=runtime,
            ranks=ranks,
            seed=recipe.seed,
            checkpoints=self._directory.checkpoints,
            sink=sink,
            probe=Probe(model, data.validation(), config=recipe.evaluation),
            stamp={
                "recipe": self._frozen.recipe_hash,
                "data": data.fingerprint,
                "threads": resolve_threads(runtime),
                "devices": runtime.devices,
            },
            resume=self._directory.checkpoints.is_dir(),
            show_progress=ranks.is_first and sys.stderr.isatty(),
        )

    def _stopped(self, outcome: Outcome) -> Status:
        """The status of a training that did not come to its end."""
        if outcome.ended is Ended.nan:
            message = (
                f"the loss was not finite at step {outcome.nonfinite_step}; "
                f"try a smaller optimizer.lr than {self._run.recipe.optimizer.lr:g}"
            )
            failure = Failure(type="NonFiniteLoss", message=message)
            self._record(replace(self._manifest, failure=failure))
            _LOG.error(message)
        return {
            Ended.nan: Status.nan,
            Ended.interrupted: Status.interrupted,
            Ended.preempted: Status.preempted,
        }[outcome.ended]

    def _write(self, model: Decoder, *, results: Results) -> None:
        with replacing(self._directory.model_file) as draft:
            save_file(model.state_dict(), draft)
        write_results(self._directory.results_file, asdict(results))

    def _record_data(self, data: Data) -> None:
        """Write on what this run trains."""
        identity = DataIdentity(
            name=self._run.recipe.data.name,
            fingerprint=data.fingerprint,
            tokens=data.train_tokens,
        )
        self._record(replace(self._manifest, data=identity))

    def _record_start(self) -> None:
        """Write when, where and with which program this run is executed."""
        source = checkout(Path(andrea_exp.__file__).parent, conf=conf_directory())
        if source is not None and source.patch is not None:
            write_atomically(self._directory.patch_file, source.patch)
        running, manifest = self._run.config.running, self._manifest
        started = replace(
            manifest,
            status=Status.running,
            started_at=manifest.started_at or utc_now(),
            failure=None,
            git=source
            and Git(
                sha=source.sha,
                dirty=source.dirty,
                patch=self._directory.patch_file.name if source.patch else None,
            ),
            packages={**packages(), "torch": torch.__version__},  # with its build, say +cpu
            platform=this_platform(),
            device=device_name(running.runtime),
            threads=resolve_threads(running.runtime),
            kernel=self._run.recipe.kernel.runs_as(self._run.use()),
        )
        self._record(started)

    def _open_logger(self) -> Logger:
        running, known = self._run.config.running, self._manifest.wandb
        logger = running.logger.open(
            directory=self._directory.path,
            labels=Labels(
                name=self._directory.path.name,
                group=running.name,
                job_type="train",
                tags=sorted(f"{group}={name}" for group, name in self._frozen.choices.items()),
            ),
            config=self._frozen.config,
            resume_id=known.id if known else None,
        )
        self._record(replace(self._manifest, wandb=logger.identity()))
        return logger

    @property
    def _manifest(self) -> Manifest:
        return self._directory.manifest()

    def _record(self, manifest: Manifest) -> None:
        self._directory.write_manifest(manifest)


def _throughput(outcome: Outcome) -> Throughput:
    return Throughput(
        tokens_per_s=outcome.tokens_per_s,
        step_ms_median=outcome.step_ms_median,
        first_step_s=outcome.first_step_s,
        peak_memory_mb=outcome.peak_memory_mb,
    )
