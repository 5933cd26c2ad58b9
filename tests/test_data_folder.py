"""A data folder that can't be used is named, with what is in the way."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import get_args

import pytest
from prefect_swarm.data_folder import FolderUse, check_data_folder
from prefect_swarm.errors import InputError
from prefect_swarm.files import HOME_VARIABLE

USES = get_args(FolderUse)


def problem(folder: Path, use: FolderUse, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(HOME_VARIABLE, str(folder))
    with pytest.raises(InputError) as caught:
        check_data_folder(use)
    assert HOME_VARIABLE in caught.value.fix
    assert f"The data folder {folder} can't be" in caught.value.problem
    return caught.value.problem


@pytest.mark.parametrize("use", USES)
def test_a_file_in_its_place_is_named(
    use: FolderUse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file := tmp_path / "file").touch()
    assert f"{file} is not a folder" in problem(file, use, monkeypatch)


def test_a_file_on_the_way_to_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file := tmp_path / "file").touch()
    assert f"{file} is not a folder" in problem(file / "a" / "b", "write", monkeypatch)


@pytest.mark.parametrize("use", USES)
def test_a_link_that_leads_to_nothing_is_named(
    use: FolderUse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (link := tmp_path / "link").symlink_to(tmp_path / "gone")
    assert f"the link {link} leads to nothing" in problem(link, use, monkeypatch)


def test_where_no_folder_can_be_made_the_system_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No such file or directory" in problem(Path("/proc/none/swarm"), "write", monkeypatch)


def test_a_disk_that_is_read_only_is_found_by_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("prefect_swarm.files.tempfile.TemporaryFile", refuse)
    assert "Read-only file system" in problem(tmp_path, "write", monkeypatch)


def test_a_folder_that_is_only_read_needn_t_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "none"))
    assert check_data_folder("read") == tmp_path / "none"
    assert not (tmp_path / "none").exists()
    assert check_data_folder("write").is_dir()
