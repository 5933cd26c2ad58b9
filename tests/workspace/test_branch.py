"""A run's changes become a branch of the user's repository, which is else as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.errors import WorkspaceError
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.workspace import message_of, open_workspace, workspace_state
from prefect_swarm.workspace.branch import BranchCommit, add_branch, differences
from taken_patches import RUN, git, new_repository, run_on, snapshot, take

pytestmark = pytest.mark.usefixtures("swarm_home")

FILES = {"a.txt": "one\ntwo\nthree\nfour\nfive\n", "b.txt": "b\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "project", FILES)


def with_branch(run: RunFolder, name: str = "swarm/fix") -> list[str]:
    repository, state = open_workspace(run), workspace_state(run)
    assert state is not None
    commits = [BranchCommit(each.whole, message_of(each)) for each in state.taken]
    return [each.subject for each in add_branch(repository, state.base, name, commits, RUN)]


def own_files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return all but the objects and the new branch."""
    new = (".git/objects/", ".git/refs/heads/swarm/", ".git/logs/refs/heads/swarm/")
    return {name: file for name, file in snapshot(folder).items() if not name.startswith(new)}


def log(folder: Path, form: str) -> list[str]:
    return git(folder, "log", "--reverse", f"--format={form}", "main..swarm/fix").split("\n")[:-1]


def test_each_step_is_a_commit_and_all_else_is_as_it_was(folder: Path) -> None:
    run = run_on(folder)
    take(run, "S1", {"a.txt": "ONE\ntwo\nthree\nfour\nfive\n"})
    take(run, "S2", {"a.txt": "one\ntwo\nthree\nfour\nFIVE\n"})
    take(run, "S3", {"b.txt": None, "c.txt": "c\n"}, "S1", "S2")
    (folder / "staged.txt").write_text("staged\n")
    git(folder, "add", "staged.txt")
    before = own_files(folder), git(folder, "status", "--porcelain")
    assert with_branch(run) == ["do S1", "do S2", "do S3"]
    assert (own_files(folder), git(folder, "status", "--porcelain")) == before
    assert log(folder, "%s|%an <%ae>|%cn") == [
        f"do {step}|Ada Lovelace <ada@example.org>|Ada Lovelace" for step in ("S1", "S2", "S3")
    ]
    trailers = "%(trailers:key=Agent,key=Step,key=Swarm-Run,separator=%x2C)"
    assert log(folder, trailers)[1] == f"Agent: Engineer,Step: S2,Swarm-Run: {RUN}"
    assert git(folder, "show", "swarm/fix:a.txt") == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert git(folder, "show", "swarm/fix~1:a.txt") == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert git(folder, "show", "swarm/fix~2:a.txt") == "ONE\ntwo\nthree\nfour\nfive\n"
    assert git(folder, "ls-tree", "--name-only", "swarm/fix").split() == ["a.txt", "c.txt"]
    git(folder, "fsck", "--strict")


def test_what_was_uncommitted_is_a_commit_of_its_own(folder: Path) -> None:
    (folder / "b.txt").write_text("mine\n")
    (folder / "new.txt").write_text("mine\n")
    run = run_on(folder)
    take(run, "S1", {"b.txt": "mine\nand theirs\n"})
    git(folder, "checkout", "-q", "b.txt")
    first = f"What was uncommitted when run {RUN} began"
    assert with_branch(run) == [first, "do S1"]
    assert git(folder, "diff", "--name-only", "main", "swarm/fix~1").split() == ["b.txt", "new.txt"]
    assert git(folder, "diff", "--name-only", "swarm/fix~1", "swarm/fix").split() == ["b.txt"]


def test_a_step_that_brings_nothing_new_has_no_commit(folder: Path) -> None:
    run = run_on(folder)
    take(run, "S1", {"b.txt": "B\n"})
    take(run, "S2", {"b.txt": "B\n"})
    assert with_branch(run) == ["do S1"]


def test_the_repositorys_hooks_and_filters_do_not_run(folder: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for name in ("pre-commit", "post-commit", "reference-transaction", "commit-msg"):
        (hook := folder / ".git/hooks" / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        hook.chmod(0o755)
    git(folder, "config", "core.fsmonitor", f"touch {ran}")
    git(folder, "config", "core.splitIndex", "true")
    git(folder, "config", "filter.x.clean", f"touch {ran}; cat")
    run = run_on(folder)
    ran.unlink(missing_ok=True)
    take(run, "S1", {".gitattributes": "* filter=x\n", "b.txt": "B\n"})
    with_branch(run)
    assert not ran.exists()
    assert [*(folder / ".git").glob("sharedindex*")] == []


@pytest.mark.parametrize("name", ["main", "topic", "unborn"])
def test_a_branch_that_is_there_is_refused(folder: Path, name: str) -> None:
    git(folder, "branch", "topic")
    take(run := run_on(folder), "S1", {"b.txt": "B\n"})
    git(folder, "symbolic-ref", "HEAD", "refs/heads/unborn")
    before = snapshot(folder / ".git/refs")
    with pytest.raises(WorkspaceError, match=f"has a branch {name} already"):
        with_branch(run, name)
    assert snapshot(folder / ".git/refs") == before


@pytest.mark.parametrize("name", ["", "-d", "a..b", "a b", "HEAD", "@{-1}", "x.lock", "/x", "a\nb"])
def test_a_name_that_no_branch_can_have_is_refused(folder: Path, name: str) -> None:
    git(folder, "checkout", "-q", "-b", "other")
    git(folder, "checkout", "-q", "main")
    take(run := run_on(folder), "S1", {"b.txt": "B\n"})
    with pytest.raises(WorkspaceError, match="can't be called"):
        with_branch(run, name)
    assert git(folder, "branch", "--format=%(refname:short)").split() == ["main", "other"]


def test_a_name_below_another_branch_is_refused(folder: Path) -> None:
    take(run := run_on(folder), "S1", {"b.txt": "B\n"})
    with pytest.raises(WorkspaceError, match="main/fix can't be made"):
        with_branch(run, "main/fix")


def test_without_a_name_of_the_author_there_is_no_branch(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(run := run_on(folder), "S1", {"b.txt": "B\n"})
    git(folder, "config", "--unset", "user.email")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(WorkspaceError, match=r"user\.email isn't set"):
        with_branch(run)


def test_a_commit_that_is_gone_is_named(folder: Path) -> None:
    take(run := run_on(folder), "S1", {"b.txt": "B\n"})
    git(folder, "commit", "-q", "--amend", "-m", "anew")
    git(folder, "reflog", "expire", "--expire=now", "--all")
    git(folder, "gc", "-q", "--prune=now")
    with pytest.raises(WorkspaceError, match="doesn't have the commit"):
        with_branch(run)


def test_a_folder_without_git_has_no_branches(tmp_path: Path) -> None:
    (folder := tmp_path / "plain").mkdir()
    (folder / "a.txt").write_text("a\n")
    take(run := run_on(folder), "S1", {"a.txt": "A\n"})
    with pytest.raises(WorkspaceError, match="no commit of git's"):
        with_branch(run)


def test_a_worktree_of_a_repository_gets_a_branch(folder: Path, tmp_path: Path) -> None:
    git(folder, "worktree", "add", "-q", "-b", "side", str(tree := tmp_path / "side"))
    take(run := run_on(tree), "S1", {"b.txt": "B\n"})
    assert with_branch(run) == ["do S1"]
    assert git(folder, "show", "swarm/fix:b.txt") == "B\n"


def test_a_repository_within_stays_as_it_is() -> None:
    inner, file = ("160000", "1" * 40), ("100644", "2" * 40)
    assert differences({"sub": inner, "a": file}, {"b": file}) == {"a": None, "b": file}
