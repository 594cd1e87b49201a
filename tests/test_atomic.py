"""A reader sees the old content or the new one."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from andrea_exp.atomic import remove_drafts, replacing, write_atomically
from andrea_exp.disk import DiskFull
from tests.small_disk import fill, small_disk


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_fails_on_the_way_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_atomically(file, "old")
    with suppress(ZeroDivisionError), replacing(file) as draft:
        draft.write_text("half")
        raise ZeroDivisionError
    assert (file.read_text(), names(tmp_path)) == ("old", ["file"])


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_file_has_the_permissions_that_the_user_gives_whoever_writes_it(
    tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        (tmp_path / "plain").touch()
        write_atomically(tmp_path / "text", "a")
        with replacing(tmp_path / "model") as draft:
            save_file({"weight": torch.ones(2)}, draft)
    finally:
        os.umask(before)
    modes = {(tmp_path / name).stat().st_mode for name in ("plain", "text", "model")}
    assert len(modes) == 1
    assert load_file(tmp_path / "model")["weight"].tolist() == [1, 1]


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in (".file.12.new", ".other.12.new", "file", ".file"):
        (tmp_path / name).touch()
    remove_drafts(tmp_path / "file")
    assert names(tmp_path) == [".file", ".other.12.new", "file"]


def test_a_full_disk_leaves_the_old_content(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size=40_960) as disk:
        file = disk / "file"
        write_atomically(file, "old")
        fill(disk, leave=8192)
        with pytest.raises(DiskFull, match=f"no room to write {file}: No space"):
            write_atomically(file, "new" * 10_000)
        full = pytest.raises(DiskFull, match=f"no room to write {file}: No space")
        with full, replacing(file) as draft:
            save_file({"weight": torch.ones(10_000)}, draft)
        assert file.read_text() == "old"
        assert names(disk) == ["ballast", "file"]
