import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from andrea_exp.component import Refusal
from andrea_exp.config.request import request
from andrea_exp.logger.base import Disabled, Guarded, Labels, Logger, LoggerConfig, Mode
from andrea_exp.logger.tensorboard import TensorboardConfig
from andrea_exp.logger.wandb import WandbConfig
from andrea_exp.logger.wandb_tensorboard import WandbTensorboardConfig, WandbTensorboardLogger
from andrea_exp.record.manifest import LogIdentity
from tests.logger.test_base import Failing, call_all

ORDER = ["log", "table", "image", "log", "finish"]
CALLS = ["log", "table", "image", "finish"]


class Named(Failing):
    """The second service."""

    @override
    def identity(self) -> LogIdentity:
        return LogIdentity(id=None, mode="offline", directory="there")


def option(*words: str) -> LoggerConfig:
    return request(["logger=wandb_tensorboard", *words]).config.running.logger


def test_it_holds_the_values_of_both_options() -> None:
    both = option("logger.wandb.project=mine")
    assert isinstance(both, WandbTensorboardConfig)
    alone = request(["logger=wandb", "logger.project=mine"]).config.running.logger
    assert both.wandb == alone
    assert both.tensorboard == request(["logger=tensorboard"]).config.running.logger


@pytest.mark.parametrize("mode", ["offline", "online", "disabled"])
def test_the_mode_is_that_of_wandb(mode: str) -> None:
    both = option(f"logger.mode={mode}")
    assert isinstance(both, WandbTensorboardConfig)
    assert both.mode is both.wandb.mode is Mode[mode]
    assert both.tensorboard.mode is Mode.offline


def test_a_second_mode_is_refused() -> None:
    with pytest.raises(Refusal, match=r"logger\.wandb\.mode=online differs from mode=offline"):
        option("logger.wandb.mode=online")


def test_the_reasons_are_those_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    assert option().reasons() == []
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    assert option().reasons() == TensorboardConfig(name="tensorboard", mode=Mode.offline).reasons()
    assert len(option().reasons()) == 1
    assert option("logger.mode=disabled").reasons() == []


def test_disabled_silences_both(tmp_path: Path) -> None:
    labels = Labels(name="n", group="g", job_type="train", tags=[])
    silent = option("logger.mode=disabled")
    logger = silent.open(directory=tmp_path, labels=labels, config={}, resume_id=None)
    assert isinstance(logger, Disabled)
    assert list(tmp_path.iterdir()) == []


def open_both(wandb: Logger, tensorboard: Logger) -> Logger:
    both = WandbTensorboardLogger(
        wandb=Guarded(wandb, name="wandb"), tensorboard=Guarded(tensorboard, name="tensorboard")
    )
    return Guarded(both, name="wandb_tensorboard")


@pytest.mark.parametrize("at", CALLS)
def test_when_wandb_fails_tensorboard_goes_on(caplog: pytest.LogCaptureFixture, at: str) -> None:
    wandb, tensorboard = Failing(at=at), Named(at="never")
    logger = open_both(wandb, tensorboard)
    call_all(logger)
    assert wandb.calls == ORDER[: ORDER.index(at) + 1]
    assert tensorboard.calls == ORDER
    (record,) = caplog.records
    assert "logger=wandb failed: ConnectionResetError" in record.getMessage()
    assert logger.identity() == LogIdentity(id="x1", mode="online (lost)", directory="here")


@pytest.mark.parametrize("at", CALLS)
def test_when_tensorboard_fails_wandb_goes_on(caplog: pytest.LogCaptureFixture, at: str) -> None:
    wandb, tensorboard = Failing(at="never"), Named(at=at)
    logger = open_both(wandb, tensorboard)
    call_all(logger)
    assert wandb.calls == ORDER
    assert tensorboard.calls == ORDER[: ORDER.index(at) + 1]
    (record,) = caplog.records
    assert "logger=tensorboard failed: ConnectionResetError" in record.getMessage()
    assert logger.identity() == LogIdentity(id="x1", mode="online", directory="here")


@pytest.mark.parametrize("broken", ["wandb", "tensorboard"])
def test_without_a_guard_of_its_own_one_failure_would_stop_the_other(broken: str) -> None:
    parts = {"wandb": Failing(at="never"), "tensorboard": Failing(at="never")}
    parts[broken].at = "log"
    logger = Guarded(WandbTensorboardLogger(**parts), name="wandb_tensorboard")
    call_all(logger)
    assert any(part.calls != ORDER for name, part in parts.items() if name != broken)


@pytest.mark.slow
def test_tensorboard_is_open_where_wandb_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    labels = Labels(name="n", group="g", job_type="train", tags=[])
    logger = option().open(directory=tmp_path, labels=labels, config={}, resume_id=None)
    logger.log({"step": 1, "loss_nats": 2.0})
    logger.finish({}, failed=False)
    (record,) = caplog.records
    assert "logger=wandb cannot be opened offline" in record.getMessage()
    assert logger.identity().mode == "offline (unreachable)"
    assert [path.name for path in tmp_path.iterdir()] == ["tensorboard"]


def test_its_parts_are_whole_configurations() -> None:
    both = option()
    assert isinstance(both, WandbTensorboardConfig)
    assert isinstance(both.wandb, WandbConfig)
    with pytest.raises(ValueError, match="mode=offline differs from mode=online"):
        replace(both, mode=Mode.online)
