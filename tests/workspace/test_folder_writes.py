"""Files are written into a user's folder all together or not at all, and through no link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prefect_swarm.errors import StorageError, WorkspaceError
from prefect_swarm.workspace import folder_writes
from prefect_swarm.workspace.folder_writes import FileWrite, read_file_in, write_files
from prefect_swarm.workspace.repository import FileData
from taken_patches import snapshot


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (top := tmp_path / "top").mkdir()
    (top / "a.txt").write_text("a\n")
    (top / "b").mkdir()
    (top / "b" / "c.txt").write_text("c\n")
    return top


def changed(folder: Path, path: str, text: str | None, *, executable: bool = False) -> FileWrite:
    after = None if text is None else FileData(text.encode(), executable)
    return FileWrite(path, read_file_in(folder, path), after)


def test_files_are_added_changed_and_deleted_with_folders(folder: Path) -> None:
    writes = [
        changed(folder, "a.txt", "A\n"),
        changed(folder, "b/c.txt", None),
        changed(folder, "d/e/f.sh", "#!/bin/sh\n", executable=True),
    ]
    write_files(folder, writes)
    assert {name: data for name, (data, _) in snapshot(folder).items()} == {
        "a.txt": b"A\n",
        "d/e/f.sh": b"#!/bin/sh\n",
    }
    assert os.access(folder / "d/e/f.sh", os.X_OK)
    assert not (folder / "b").exists()


def test_a_file_keeps_its_rights_but_for_those_to_execute_it(folder: Path) -> None:
    (folder / "a.txt").chmod(0o640)
    write_files(folder, [changed(folder, "a.txt", "A\n", executable=True)])
    assert (folder / "a.txt").stat().st_mode & 0o777 == 0o750
    write_files(folder, [changed(folder, "a.txt", "a\n")])
    assert (folder / "a.txt").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("link", ["a.txt", "b"])
def test_nothing_is_written_through_a_link(folder: Path, tmp_path: Path, link: str) -> None:
    writes = [changed(folder, "a.txt", "A\n"), changed(folder, "b/c.txt", "C\n")]
    (folder / link).rename(outside := tmp_path / "outside")
    (folder / link).symlink_to(outside)
    before = snapshot(tmp_path)
    with pytest.raises(WorkspaceError, match=r"is a link.*Nothing was changed\."):
        write_files(folder, writes)
    assert snapshot(tmp_path) == before


def test_what_was_changed_meanwhile_keeps_all_from_being_written(folder: Path) -> None:
    writes = [changed(folder, "a.txt", "A\n"), changed(folder, "b/c.txt", "C\n")]
    (folder / "b/c.txt").write_text("mine\n")
    before = snapshot(folder)
    with pytest.raises(WorkspaceError, match=r"b/c.txt .* changed meanwhile\. Nothing was"):
        write_files(folder, writes)
    assert snapshot(folder) == before


def test_a_file_that_has_come_meanwhile_is_not_written_over(folder: Path) -> None:
    writes = [changed(folder, "new/n.txt", "N\n")]
    (folder / "new").mkdir()
    (folder / "new/n.txt").write_text("mine\n")
    with pytest.raises(WorkspaceError, match="it is there now"):
        write_files(folder, writes)
    assert (folder / "new/n.txt").read_text() == "mine\n"


def test_a_file_in_the_place_of_a_folder_is_refused(folder: Path) -> None:
    write = FileWrite("a.txt/inner.txt", None, FileData(b"x"))
    with pytest.raises(WorkspaceError, match="in the place of a folder"):
        write_files(folder, [write])


def test_a_write_that_fails_in_the_middle_is_taken_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = [
        changed(folder, "a.txt", "A\n"),
        changed(folder, "d/new.txt", "N\n"),
        changed(folder, "b/c.txt", None),
    ]
    before = snapshot(folder)

    unlink = os.unlink

    def fail(name: str, *, dir_fd: int | None = None) -> None:
        if name == "c.txt":  # The last of them: two are written by then.
            raise OSError(5, "Input/output error")
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(folder_writes.os, "unlink", fail)
    with pytest.raises(StorageError, match=r"Input/output error\. Nothing was changed\."):
        write_files(folder, writes)
    assert snapshot(folder) == before
    assert not (folder / "d").exists()


def test_a_disk_without_hard_links_gets_its_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(folder_writes.os, "link", refuse)
    write_files(folder, [changed(folder, "n.txt", "N\n")])
    assert [*snapshot(folder)] == ["a.txt", "b/c.txt", "n.txt"]
