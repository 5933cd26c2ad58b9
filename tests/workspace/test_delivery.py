"""A run's changes are merged with what the user's folder is now, or nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.errors import WorkspaceError
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.workspace import open_workspace, workspace_state
from prefect_swarm.workspace.delivery import (
    Delivery,
    deliver,
    find_delivery,
    outcome_of,
    refused_change,
)
from prefect_swarm.workspace.names import first_names
from prefect_swarm.workspace.repository import Entry, FileChange, FileData, Kind
from taken_patches import RUN, git, new_repository, run_on, snapshot, take

pytestmark = pytest.mark.usefixtures("swarm_home")

FILES = {"a.txt": "one\ntwo\nthree\nfour\nfive\n", "b/old.txt": "old\n", ".gitignore": "*.log\n"}
CHANGES = {
    "a.txt": "ONE\ntwo\nthree\nfour\nfive\n",
    "b/old.txt": None,
    "tools/go.sh": FileData(b"#!/bin/sh\n", executable=True),
}
DONE = {"a.txt": "changed", "b/old.txt": "deleted", "tools/go.sh": "added"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "project", FILES)


def found(run: RunFolder) -> Delivery:
    repository, state = open_workspace(run), workspace_state(run)
    assert state is not None
    return find_delivery(repository, state.base, state.whole, RUN)


def delivered(run: RunFolder) -> dict[str, str]:
    deliver(open_workspace(run), delivery := found(run))
    return {write.path: outcome_of(write) for write in delivery.writes}


def test_a_folder_as_it_was_gets_the_changes(folder: Path) -> None:
    take(run := run_on(folder), "S1", CHANGES)
    index = (folder / ".git/index").read_bytes()
    assert delivered(run) == DONE
    assert (folder / "a.txt").read_text() == CHANGES["a.txt"]
    assert git(folder, "status", "--porcelain=v1", "-uall").splitlines() == [
        " M a.txt",
        " D b/old.txt",
        "?? tools/go.sh",
    ]
    assert not index or git(folder, "diff", "--cached") == ""


def test_a_second_time_there_is_nothing_to_write(folder: Path) -> None:
    take(run := run_on(folder), "S1", {**CHANGES, "run.log": "git ignores it\n"})
    delivered(run)
    before = snapshot(folder)
    assert found(run).writes == ()
    assert snapshot(folder) == before


def test_a_folder_that_has_moved_on_is_merged(folder: Path) -> None:
    take(run := run_on(folder), "S1", CHANGES)
    (folder / "a.txt").write_text("one\ntwo\nthree\nfour\nFIVE\n")
    git(folder, "commit", "-qam", "mine")
    (folder / "mine.txt").write_text("mine\n")
    assert found(run).has_moved_on
    assert delivered(run) == DONE
    assert (folder / "a.txt").read_text() == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert (folder / "mine.txt").read_text() == "mine\n"


def test_git_takes_back_what_was_written_where_the_folder_had_moved_on(folder: Path) -> None:
    take(run := run_on(folder), "S1", CHANGES)
    (folder / "a.txt").write_text("one\ntwo\nthree\nFOUR\nfive\n")
    before = snapshot(folder)
    file = deliver(open_workspace(run), found(run))
    assert snapshot(folder) != before
    git(folder, "apply", "-R", str(file))
    assert snapshot(folder) == before


def test_a_conflict_names_the_files_and_writes_nothing(folder: Path) -> None:
    take(run := run_on(folder), "S1", CHANGES)
    (folder / "a.txt").write_text("Uno\ntwo\nthree\nfour\nfive\n")
    before = snapshot(folder)
    with pytest.raises(
        WorkspaceError, match=r"same places of a\.txt\. Nothing was changed"
    ) as told:
        found(run)
    assert f"prefect-swarm apply {RUN} --branch" in told.value.fix
    assert snapshot(folder) == before


def test_a_link_on_the_way_is_refused(folder: Path, tmp_path: Path) -> None:
    take(run := run_on(folder), "S1", {"tools/go.sh": "x\n"})
    (outside := tmp_path / "outside").mkdir()
    (folder / "tools").symlink_to(outside)
    (folder / ".git/info/exclude").write_text("tools\n")
    with pytest.raises(WorkspaceError, match=r"tools.* is a link.*Nothing was changed"):
        found(run)
    assert [*outside.iterdir()] == []


def test_a_file_that_git_ignores_is_not_written_over(folder: Path) -> None:
    take(run := run_on(folder), "S1", {"run.log": "theirs\n"})
    (folder / "run.log").write_text("mine\n")
    with pytest.raises(WorkspaceError, match=r"run\.log .* that git ignores\. Nothing"):
        found(run)
    assert (folder / "run.log").read_text() == "mine\n"


def test_a_folder_without_git_is_written(tmp_path: Path) -> None:
    (folder := tmp_path / "plain").mkdir()
    (folder / "a.txt").write_text(FILES["a.txt"])
    take(run := run_on(folder), "S1", {"a.txt": CHANGES["a.txt"], "n.txt": "n\n"})
    assert delivered(run) == {"a.txt": "changed", "n.txt": "added"}


def test_line_ends_stay_as_the_folder_has_them(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "project", {".gitattributes": "*.txt text eol=crlf\n"})
    (folder / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "second")
    take(run := run_on(folder), "S1", {"a.txt": "ONE\ntwo\n"})
    assert delivered(run) == {"a.txt": "changed"}
    assert (folder / "a.txt").read_bytes() == b"ONE\r\ntwo\r\n"


def test_a_folder_that_is_gone_is_named(folder: Path) -> None:
    take(run := run_on(folder), "S1", CHANGES)
    folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(WorkspaceError, match=f"{folder}.* isn't here"):
        found(run)


@pytest.mark.parametrize(
    ("path", "kind", "why"),
    [
        (".git/config", "file", "git's own"),
        ("sub/.GIT/hooks/pre-commit", "file", "git's own"),
        ("../out.txt", "file", "plain path"),
        ("a", "link", "links are left to git"),
        ("a", "submodule", "a repository within"),
    ],
)
def test_what_is_never_written(path: str, kind: Kind, why: str) -> None:
    entry = Entry(path, kind, "0" * 40, 1)
    assert why in refused_change(FileChange(path, None, entry))
    assert why in refused_change(FileChange(path, entry, None))


def test_many_paths_are_counted() -> None:
    assert first_names([f"{n}.py" for n in range(12)], 10).endswith("9.py and 2 more")
