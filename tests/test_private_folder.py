"""The data folder is its owner's alone; one that isn't the user's own is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from prefect_swarm import data_folder
from prefect_swarm.data_folder import check_data_folder, check_owner, own_data_folder
from prefect_swarm.errors import InputError
from prefect_swarm.files import HOME_VARIABLE

ME, OTHER = 1000, 1001


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def older_home(folder: Path) -> Path:
    """A folder as older versions left it under the umask 000."""
    for name in ("runs/abc/outputs", "memory/generations/1", "gates/lint"):
        (folder / name).mkdir(parents=True)
    names = ("server.log", "memory/episodes.sqlite", "memory/generations/1/graph", "runs/abc/lock")
    for name in names:
        (folder / name).touch()
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    return folder


@pytest.mark.attack("private")
@pytest.mark.parametrize("use", ["read", "write"])
def test_what_an_older_version_left_open_is_closed(
    use: data_folder.FolderUse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = older_home(tmp_path / "swarm")
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    check_data_folder(use)
    assert mode(home) == 0o700
    assert {mode(path) for path in home.rglob("*") if path.is_dir()} == {0o700}
    assert {mode(path) for path in home.rglob("*") if path.is_file()} == {0o600}


@pytest.mark.attack("private")
@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022])
def test_a_new_folder_and_those_above_it_are_the_owners_alone(
    umask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "a" / "b"))
    before = os.umask(umask)
    try:
        check_data_folder("write")
    finally:
        os.umask(before)
    assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "b")) == (0o700, 0o700)


@pytest.mark.attack("private")
def test_what_a_killed_process_had_not_closed_is_closed_by_the_next(tmp_path: Path) -> None:
    home = older_home(tmp_path / "swarm")
    home.chmod(0o1700)
    own_data_folder(home)
    assert mode(home) == 0o700
    assert mode(home / "memory" / "episodes.sqlite") == 0o600


@pytest.mark.attack("private")
def test_what_a_link_in_it_leads_to_stays_as_it_is(tmp_path: Path) -> None:
    home = older_home(tmp_path / "swarm")
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (file := elsewhere / "file").touch()
    elsewhere.chmod(0o755)
    file.chmod(0o644)
    (home / "runs" / "folder").symlink_to(elsewhere)
    (home / "runs" / "file").symlink_to(file)
    own_data_folder(home)
    assert (mode(elsewhere), mode(file)) == (0o755, 0o644)


def test_a_closed_folder_is_not_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = older_home(tmp_path / "swarm")
    own_data_folder(home)
    looked: list[object] = []

    def note(*given: object, **_: object) -> None:
        looked.append(given)

    for name in ("walk", "listdir", "scandir", "chmod"):
        monkeypatch.setattr(os, name, note)
    own_data_folder(home)
    assert looked == []


@pytest.mark.parametrize("given", [0o2770, 0o2750])
def test_a_folder_that_its_group_shares_stays_as_it_is(given: int, tmp_path: Path) -> None:
    home = older_home(tmp_path / "swarm")
    home.chmod(given)
    own_data_folder(home)
    assert mode(home) == given
    assert mode(home / "memory" / "episodes.sqlite") == 0o666


@pytest.mark.attack("private")
@pytest.mark.parametrize("given", [0o755, 0o750, 0o775, 0o711, 0o2755])
def test_each_mode_that_a_umask_leaves_is_closed(given: int, tmp_path: Path) -> None:
    home = older_home(tmp_path / "swarm")
    home.chmod(given)
    own_data_folder(home)
    assert mode(home) == 0o700


@pytest.mark.attack("private")
def test_of_a_folder_with_other_things_only_ours_are_closed(tmp_path: Path) -> None:
    home = older_home(tmp_path / "swarm")
    (site := home / "public_html").mkdir()
    site.chmod(0o755)
    home.chmod(0o755)
    own_data_folder(home)
    assert (mode(home), mode(site)) == (0o755, 0o755)
    assert mode(home / "runs") == mode(home / "memory") == 0o700
    assert mode(home / "server.log") == mode(home / "memory" / "episodes.sqlite") == 0o600


@pytest.mark.attack("private")
@pytest.mark.parametrize("given", [0o1777, 0o777])
def test_a_folder_that_everybody_writes_to_is_refused(
    given: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home := tmp_path / "tmp").mkdir()
    (home / "somebody-else's").touch()
    home.chmod(given)
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    with pytest.raises(InputError, match="Everybody may write") as caught:
        check_data_folder("write")
    assert HOME_VARIABLE in caught.value.fix
    assert mode(home) == given


@pytest.mark.attack("private")
def test_a_folder_of_somebody_else_is_refused() -> None:
    with pytest.raises(InputError, match="belongs to user 1001, and you are user 1000"):
        check_owner(Path("/tmp/x"), OTHER, ME)  # noqa: S108 - nothing is written


@pytest.mark.parametrize("owner", [ME, 0, 65534])
def test_a_folder_of_the_user_or_of_root_is_taken(owner: int) -> None:
    check_owner(Path("/data"), owner, ME)


@pytest.mark.attack("private")
def test_root_is_warned_of_a_folder_of_somebody_else(caplog: pytest.LogCaptureFixture) -> None:
    check_owner(Path("/data"), OTHER, 0)
    assert "belongs to user 1001" in caplog.text


@pytest.mark.attack("private")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("what", ["folder", "link"])
def test_another_users_folder_or_link_in_its_place_is_found(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home := tmp_path / "mine").mkdir()
    if what == "link":
        (link := tmp_path / "link").symlink_to(home)
        os.lchown(link, OTHER, -1)
        home = link
    else:
        os.chown(home, OTHER, -1)
    monkeypatch.setattr(data_folder.os, "geteuid", lambda: ME)
    if what == "link":
        os.chown(tmp_path / "mine", ME, -1)
    with pytest.raises(InputError, match="belongs to user 1001"):
        own_data_folder(home)
