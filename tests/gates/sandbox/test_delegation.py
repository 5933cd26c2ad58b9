"""Control groups are made only where the machine's administrator has left it to this user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prefect_swarm.gates.sandbox.probe import delegated_group

MARK = "user.delegate"


class Groups:
    """Folders that look like cgroup v2, in which this process is in `own`."""

    def __init__(self, top: Path, own: str) -> None:
        self.top, self.own = top, top / own
        self.memberships, self.mounts = top.parent / "cgroup", top.parent / "mountinfo"
        self.memberships.write_text(f"1:name=systemd:/\n0::/{own}\n")
        mount = f"30 23 0:26 / {top} rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
        self.mounts.write_text(f"22 1 8:1 / / rw - ext4 /dev/sda rw\n{mount}")
        for folder in (self.own, *self.own.parents):
            if folder == top.parent:
                break
            folder.mkdir(parents=True, exist_ok=True)
            self.have(folder, controllers="cpu memory pids")

    def have(self, folder: Path, controllers: str = "", enabled: str = "") -> None:
        (folder / "cgroup.controllers").write_text(controllers)
        (folder / "cgroup.subtree_control").write_text(enabled)
        (folder / "cgroup.procs").touch()

    def delegate(self, folder: Path, enabled: str = "memory pids") -> None:
        self.have(folder, "cpu memory pids", enabled)
        try:
            os.setxattr(folder, MARK, b"1")
        except OSError:
            pytest.skip("this file system has no attributes for users")

    def found(self) -> Path | None:
        return delegated_group(self.memberships, self.mounts)


@pytest.fixture
def groups(tmp_path: Path) -> Groups:
    (tmp_path / "top").mkdir()
    return Groups(tmp_path / "top", "user.slice/app.slice/run.scope")


def test_a_delegated_ancestor_is_taken(groups: Groups) -> None:
    groups.delegate(groups.own.parent)
    assert groups.found() == groups.own.parent


def test_what_root_could_write_but_was_not_delegated_is_left_alone(
    groups: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    groups.have(groups.own.parent, "memory pids", "memory pids")
    assert groups.found() is None


def test_a_group_that_lacks_a_bound_is_none(groups: Groups) -> None:
    groups.delegate(groups.own.parent)
    groups.have(groups.own.parent, "pids", "pids")
    assert groups.found() is None


@pytest.mark.parametrize("name", ["memberships", "mounts"])
@pytest.mark.parametrize("text", ["", "nonsense\n", "9:memory:/\n"])
def test_a_machine_without_such_groups_has_none(groups: Groups, name: str, text: str) -> None:
    groups.delegate(groups.own.parent)
    file: Path = getattr(groups, name)
    file.write_text(text)
    assert groups.found() is None
    file.unlink()
    assert groups.found() is None
