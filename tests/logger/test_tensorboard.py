import importlib
import io
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import andrea_exp
from andrea_exp.logger.base import Disabled, Labels, Logger, Mode
from andrea_exp.logger.tensorboard import TensorboardConfig
from andrea_exp.record.manifest import LogIdentity

READER = "tensorboard.backend.event_processing.event_accumulator"
PROTOCOL = "tensorboard.plugins.hparams.plugin_data_pb2"
OPTION = TensorboardConfig(name="tensorboard", mode=Mode.offline)
LABELS = Labels(name="a run", group="a sweep", job_type="train", tags=["toy", "rope"])
CONFIG = {
    "model": {"d_model": 12, "causal": True},
    "betas": [0.9, 0.95],
    "question": None,
    "api_key": "abc",
}


def png() -> bytes:
    picture = io.BytesIO()
    Image.new("RGB", (3, 5)).save(picture, "png")
    return picture.getvalue()


def open_it(place: Path, option: TensorboardConfig = OPTION) -> Logger:
    return option.open(directory=place, labels=LABELS, config=CONFIG, resume_id=None)


def read(place: Path) -> Any:
    """What TensorBoard itself reads in a run directory."""
    reader: Any = importlib.import_module(READER)
    events = reader.EventAccumulator(str(place / "tensorboard"))
    return events.Reload()


def curve(events: Any, name: str) -> list[tuple[int, float]]:
    return [(each.step, each.value) for each in events.Scalars(name)]


def text(events: Any, name: str) -> str:
    (shown,) = events.Tensors(f"{name}/text_summary")
    (content,) = shown.tensor_proto.string_val
    return content.decode()


def hyperparameters(events: Any, part: str) -> Any:
    content = events.SummaryMetadata(f"_hparams_/{part}").plugin_data.content
    protocol: Any = importlib.import_module(PROTOCOL)
    return protocol.HParamsPluginData.FromString(content)


def log(logger: Logger, steps: Sequence[int]) -> None:
    for step in steps:
        logger.log({"step": step, "loss_nats": 5.0 - step / 8, "gone_nats": None})


def test_a_whole_run_can_be_read_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "picture.png").write_bytes(png())
    logger = open_it(tmp_path)
    log(logger, [0, 10, 20])
    logger.table("lengths", columns=["T", "a|b"], rows=[[64, 2.5], [128, "x|y\nz"], [256, None]])
    logger.image("bytes", png())
    logger.image("file", tmp_path / "picture.png")
    logger.finish({"val_loss_nats": 2.75, "floor_nats": None}, failed=False)
    assert caplog.records == []
    assert logger.identity() == LogIdentity(id=None, mode="offline", directory="tensorboard")
    events = read(tmp_path)
    assert events.Tags()["scalars"] == ["loss_nats", "final/val_loss_nats"]
    assert curve(events, "loss_nats") == [(0, 5.0), (10, 3.75), (20, 2.5)]
    assert curve(events, "final/val_loss_nats") == [(20, 2.75)]
    table = ["| T | a\\|b |", "| --- | --- |", "| 64 | 2.5 |", "| 128 | x\\|y z |", "| 256 |  |"]
    assert text(events, "lengths").splitlines() == table
    assert text(events, "status") == "finished"
    assert '"a sweep"' in text(events, "labels")
    for name in ("bytes", "file"):
        (image,) = events.Images(name)
        assert (image.step, image.width, image.height) == (20, 3, 5)
        assert image.encoded_image_string == png()


def test_the_configuration_is_a_text_and_a_row_of_the_table_of_runs(tmp_path: Path) -> None:
    logger = open_it(tmp_path)
    logger.finish({"val_loss_nats": 2.75}, failed=False)
    events = read(tmp_path)
    shown = text(events, "config")
    assert all(line.startswith("    ") for line in shown.splitlines())
    assert '"api_key": "***"' in shown
    started = hyperparameters(events, "session_start_info").session_start_info.hparams
    values = {key: value.number_value or value.string_value for key, value in started.items()}
    assert values == {
        "model.d_model": 12,
        "model.causal": "True",
        "betas": "[0.9, 0.95]",
        "api_key": "***",
    }
    (metric,) = hyperparameters(events, "experiment").experiment.metric_infos
    assert metric.name.tag == "final/val_loss_nats"


def test_a_failed_run_says_so_and_its_resumption_continues_the_curves(tmp_path: Path) -> None:
    first = open_it(tmp_path)
    log(first, [4])
    first.finish({}, failed=True)
    events = read(tmp_path)
    assert text(events, "status") == "failed"
    assert not any(tag.startswith("_hparams_") for tag in events.Tags()["tensors"])
    second = open_it(tmp_path)
    log(second, [8])
    second.finish({}, failed=False)
    assert len(list((tmp_path / "tensorboard").iterdir())) == 2
    assert curve(read(tmp_path), "loss_nats") == [(4, 4.5), (8, 4.0)]


def test_each_row_is_in_the_file_at_once(tmp_path: Path) -> None:
    logger = open_it(tmp_path)
    for step in (1, 2, 3):
        log(logger, [step])
        assert curve(read(tmp_path), "loss_nats")[-1] == (step, 5.0 - step / 8)


def test_the_files_do_not_name_the_machine(tmp_path: Path) -> None:
    open_it(tmp_path).finish({}, failed=False)
    (file,) = (tmp_path / "tensorboard").iterdir()
    host = socket.gethostname()
    assert host not in file.name
    assert host.encode() not in file.read_bytes()


def test_what_is_no_png_ends_the_view_with_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logger = open_it(tmp_path)
    logger.image("drawing", b"<svg/>")
    log(logger, [1])
    (record,) = caplog.records
    assert "logger=tensorboard failed: ValueError: the picture drawing" in record.getMessage()
    assert logger.identity().mode == "offline (lost)"


def test_online_is_refused() -> None:
    with pytest.raises(ValueError, match="mode=online: TensorBoard is read from files"):
        replace(OPTION, mode=Mode.online)


def test_a_missing_package_is_a_reason_and_later_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert OPTION.reasons() == []
    for name in [name for name in sys.modules if name.startswith("torch.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    (reason,) = OPTION.reasons()
    assert "pip install 'andrea_exp[tensorboard]'" in reason
    assert replace(OPTION, mode=Mode.disabled).reasons() == []
    assert open_it(tmp_path).identity().mode == "offline (unreachable)"
    (record,) = caplog.records
    assert "pip install 'andrea_exp[tensorboard]'" in record.getMessage()
    assert list(tmp_path.iterdir()) == []


def test_the_disabled_mode_is_the_silent_logger(tmp_path: Path) -> None:
    assert isinstance(open_it(tmp_path, replace(OPTION, mode=Mode.disabled)), Disabled)
    assert list(tmp_path.iterdir()) == []


def test_the_option_imports_neither_torch_nor_tensorboard() -> None:
    code = """
import sys
from andrea_exp.logger.base import Mode
from andrea_exp.logger.tensorboard import TensorboardConfig
TensorboardConfig(name="tensorboard", mode=Mode.offline).reasons()
print({"torch", "tensorboard"} & set(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(andrea_exp.__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "set()\n"
