"""A file is written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prefect_swarm.errors import StorageError
from prefect_swarm.files import READABLE, replace_atomically, require_room, write_atomically


def test_a_text_and_bytes_are_written(tmp_path: Path) -> None:
    write_atomically(tmp_path / "text", "größer")
    write_atomically(tmp_path / "bytes", b"\x00\xff")
    assert (tmp_path / "text").read_text("utf-8") == "größer"
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"


def test_what_was_there_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a longer old text")
    write_atomically(tmp_path / "file", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "new"


def test_the_old_content_stays_until_the_end(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    with replace_atomically(file) as temporary:
        temporary.write_text("new")
        assert file.read_text() == "old"
    assert file.read_text() == "new"


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt(), ValueError("odd")])
def test_a_failure_in_the_middle_leaves_the_old_content_and_no_temporary_file(
    tmp_path: Path, error: BaseException
) -> None:
    file = tmp_path / "file"
    file.write_text("old")

    def write_half() -> None:
        with replace_atomically(file) as temporary:
            temporary.write_text("ne")
            raise error

    with pytest.raises(type(error)):
        write_half()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "old"


@pytest.mark.parametrize("function", ["fsync", "chmod", "replace"])
def test_a_failure_at_the_end_leaves_the_old_content_and_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("full")

    file = tmp_path / "file"
    file.write_text("old")
    monkeypatch.setattr(os, function, fail)
    with pytest.raises(OSError, match="full"):
        write_atomically(file, "new", mode=0o640)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "old"


def test_a_text_that_is_not_utf_8_leaves_the_old_content(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(file, "\ud800")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "old"


def test_only_the_owner_may_read_it_unless_it_is_said(tmp_path: Path) -> None:
    write_atomically(tmp_path / "own", "text")
    write_atomically(tmp_path / "shared", "text", mode=READABLE)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("own", "shared")]
    assert modes == [0o600, 0o644]


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / ("ü" * 127)
    write_atomically(file, "text")
    assert file.read_text() == "text"


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "file", "text")
    assert not (tmp_path / "none").exists()


def test_a_folder_that_takes_no_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=f"{tmp_path / 'file' / 'runs'} can't be written") as e:
        require_room(tmp_path / "file" / "runs", 1)
    assert "PREFECT_INTEGRATIONS_SWARM_HOME" in e.value.fix


def test_a_disk_with_too_little_room_is_named_with_the_figures(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=rf"no room for {tmp_path}: \d+\.0 MiB are needed, "):
        require_room(tmp_path, 1 << 60)
    assert list(tmp_path.iterdir()) == []
