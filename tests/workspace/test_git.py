"""Calls of git heed nothing that a user, a system or the environment has configured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from git_folders import as_it_lies, committed, contents, git, made, tree_with, write_files
from prefect_swarm.errors import WorkspaceError
from prefect_swarm.workspace.base import record_base
from prefect_swarm.workspace.git import Git, GitFailedError, git_version, read_only


@pytest.fixture
def unknown_version() -> Iterator[None]:
    git_version.cache_clear()
    yield
    git_version.cache_clear()


def path_with(folder: Path, says: str) -> str:
    program = folder / "git"
    program.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
    program.chmod(0o755)
    return str(folder)


@pytest.mark.usefixtures("unknown_version")
def test_without_git_the_user_is_told_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match="there is none on PATH") as raised:
        git_version()
    assert "Install git 2.38" in raised.value.fix


@pytest.mark.usefixtures("unknown_version")
@pytest.mark.parametrize(
    ("says", "shown"),
    [("git version 2.37.9", "2.37"), ("git version 1.9", "1.9"), ("hello", "0.0")],
)
def test_an_old_git_is_refused_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, shown: str
) -> None:
    monkeypatch.setenv("PATH", path_with(tmp_path, says))
    with pytest.raises(WorkspaceError, match=f"that on PATH is {shown}"):
        git_version()


@pytest.mark.usefixtures("unknown_version")
@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("git version 2.38.0", (2, 38)),
        ("git version 2.50.1 (Apple Git-155)", (2, 50)),
        ("git version 3.0.0.windows.1", (3, 0)),
    ],
)
def test_a_new_enough_git_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, version: tuple[int, int]
) -> None:
    monkeypatch.setenv("PATH", path_with(tmp_path, says))
    assert git_version() == version


def test_a_call_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    repository = made(tmp_path / "run")
    git = Git(repository.git.folder, seconds=0.0)
    with pytest.raises(WorkspaceError, match="git mktree took more than 0 s"):
        git("mktree")


def test_what_git_refuses_is_told_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(GitFailedError, match=r"git cat-file failed: fatal: .*nothing") as raised:
        made(tmp_path / "run").git("cat-file", "blob", "nothing")
    assert raised.value.status == 128


def ringing(tmp_path: Path) -> tuple[str, Path]:
    """Return a program that leaves a mark when it is run, and where."""
    mark, program = tmp_path / "it-was-run", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program), mark


def configured(program: str) -> str:
    return (
        f"[core]\n fsmonitor = {program}\n hooksPath = {Path(program).parent}/hooks\n"
        f" pager = {program}\n editor = {program}\n sshCommand = {program}\n"
        f"[diff]\n external = {program}\n"
        f'[diff "d"]\n command = {program}\n textconv = {program}\n'
        f'[filter "f"]\n clean = {program}\n smudge = {program}\n process = {program}\n'
        f' required = true\n[merge "m"]\n driver = {program}\n'
        f"[alias]\n ls-files = !{program}\n rev-parse = !{program}\n add = !{program}\n"
        f"[credential]\n helper = !{program}\n[gpg]\n program = {program}\n"
        "[commit]\n gpgSign = true\n"
    )


def test_nothing_that_is_configured_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = committed(
        tmp_path / "folder",
        {"a.txt": "1\n", ".gitattributes": "*.txt filter=f diff=d merge=m\n", "b.txt": "1\n"},
    )
    program, mark = ringing(tmp_path)
    home = tmp_path / "home"
    write_files(home, {".gitconfig": configured(program)})
    write_files(folder, {".git/config": (folder / ".git/config").read_text() + configured(program)})
    hooks = ["post-checkout", "post-index-change", "reference-transaction", "pre-commit"]
    for name in hooks:
        for place in (folder / ".git/hooks", tmp_path / "hooks"):
            place.mkdir(exist_ok=True)
            (place / name).write_text(Path(program).read_text())
            (place / name).chmod(0o755)
    write_files(folder, {"a.txt": "2\n"})
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", program)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", program)
    before = as_it_lies(folder)

    repository = made(tmp_path / "run")
    base = record_base(repository, str(folder), 9)
    tree = repository.tree_of(base.commit)
    after = tree_with(repository, {**contents(repository, tree), "a.txt": "3\n"})
    assert "-2\n+3\n" in repository.patch(tree, after)
    assert repository.applied(tree, repository.patch(tree, after)) == after
    ours, theirs = (
        repository.commit(other, (base.commit,), "m\n", 9)
        for other in (after, tree_with(repository, {**contents(repository, tree), "b.txt": "9\n"}))
    )
    assert not repository.merged(ours, theirs, 9).conflicts
    with repository.checked_out(after) as files:
        assert (files / "a.txt").read_text() == "3\n"
    assert (base.is_dirty, base.head) == (True, git(folder, "rev-parse", "HEAD").decode())
    assert not mark.exists()
    assert as_it_lies(folder) == before


@pytest.mark.parametrize(
    "name",
    [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
        "GIT_CEILING_DIRECTORIES",
        "GIT_DEFAULT_HASH",
        "GIT_TEMPLATE_DIR",
    ],
)
def test_variables_of_git_are_not_heeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = committed(tmp_path / "folder", {"a": "1"})
    other = committed(tmp_path / "other", {"b": "2"})
    monkeypatch.setenv(name, "sha256" if name == "GIT_DEFAULT_HASH" else str(other / ".git"))
    before = as_it_lies(other)
    repository = made(tmp_path / "run")
    base = record_base(repository, str(folder), 9)
    assert contents(repository, base.commit) == {"a": b"1"}
    assert not base.is_dirty
    assert as_it_lies(other) == before


def test_what_a_user_configured_of_their_repository_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = committed(tmp_path / "folder", {"a": "1"})
    write_files(tmp_path / "home", {".gitconfig": "[x]\n y = z\n"})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert read_only(folder, "config", "--get", "x.y") == b"z\n"
    with pytest.raises(GitFailedError):
        Git(folder / ".git")("config", "--get", "x.y")
    assert os.environ["HOME"] == str(tmp_path / "home")


def test_what_prints_without_end_is_ended_once_it_is_enough(tmp_path: Path) -> None:
    user = committed(tmp_path / "user", {"a": "x\n" * 400_000})
    git = Git(user / ".git")
    assert git("grep", "-n", "x", "HEAD", most=1000) == git("grep", "-n", "x", "HEAD")[:1000]
    assert git("grep", "-c", "x", "HEAD", most=1000) == b"HEAD:a:400000\n"
    with pytest.raises(GitFailedError, match="failed") as raised:
        git("grep", "-E", "x(", "HEAD", most=1000)
    assert raised.value.status == 128
    with pytest.raises(WorkspaceError, match="more than 0 s"):
        Git(user / ".git", seconds=0)("grep", "-n", "x", "HEAD", most=10_000_000)
