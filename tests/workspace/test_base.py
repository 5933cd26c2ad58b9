"""The base of a run's work: what of a user's folder is copied, and nothing in it is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from git_folders import as_it_lies, committed, contents, git, made, write_files
from prefect_swarm.errors import WorkspaceError
from prefect_swarm.workspace import base as module
from prefect_swarm.workspace.base import WorkspaceBase, outline, record_base
from prefect_swarm.workspace.repository import Entry, Repository

Record = Callable[[Path], tuple[WorkspaceBase, dict[str, bytes]]]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return made(tmp_path / "run")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which nothing is configured."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path / "home"


@pytest.fixture
def record(repository: Repository) -> Record:
    """Return a base and what its files hold; what is in the folder is as it was before."""

    def recorded(folder: Path) -> tuple[WorkspaceBase, dict[str, bytes]]:
        before = as_it_lies(folder)
        try:
            base = record_base(repository, str(folder), 9)
        finally:
            assert as_it_lies(folder) == before
        return base, contents(repository, base.commit)

    return recorded


def entries(repository: Repository, base: WorkspaceBase) -> dict[str, Entry]:
    return repository.entries(base.commit)


FILES: dict[str, str | bytes] = {"a": "1", "b/c": "2"}


def test_a_clean_repository_is_copied_as_it_was_committed(tmp_path: Path, record: Record) -> None:
    folder = committed(tmp_path / "folder", FILES)
    base, held = record(folder)
    assert held == {"a": b"1", "b/c": b"2"}
    assert base.folder == str(folder)
    assert base.head == git(folder, "rev-parse", "HEAD").decode()
    assert (base.is_dirty, base.files, base.at) == (False, 2, 9)


def test_what_was_changed_since_is_part_of_it(tmp_path: Path, record: Record) -> None:
    folder = write_files(committed(tmp_path / "folder", FILES), {"a": "9", "new": "3"})
    (folder / "b/c").unlink()
    write_files(folder, {"staged": "4"})
    git(folder, "add", "staged")
    base, held = record(folder)
    assert held == {"a": b"9", "new": b"3", "staged": b"4"}
    assert base.is_dirty


def test_the_same_folder_gives_the_same_commit(
    tmp_path: Path, record: Record, repository: Repository
) -> None:
    folder = committed(tmp_path / "folder", FILES)
    first, _ = record(folder)
    repository.remove()
    assert record(folder)[0] == first


def test_what_git_ignores_is_no_part_of_it(tmp_path: Path, record: Record) -> None:
    folder = committed(tmp_path / "folder", {".gitignore": "*.log\nbuild/\n", "a": "1"})
    write_files(folder, {"x.log": "x", "build/y": "y", "b/z.log": "z"})
    base, held = record(folder)
    assert [*held] == [".gitignore", "a"]
    assert not base.is_dirty


def test_what_git_has_is_part_of_it_even_where_a_rule_ignores_it(
    tmp_path: Path, record: Record
) -> None:
    folder = committed(tmp_path / "folder", {"build/kept": "1", "a": "1"})
    (folder / "dangling").symlink_to("build/nothing")
    git(folder, "add", "dangling")
    write_files(folder, {".gitignore": "build/\ndangling\n", "build/made": "2"})
    assert record(folder)[1] == {
        ".gitignore": b"build/\ndangling\n",
        "a": b"1",
        "build/kept": b"1",
        "dangling": b"build/nothing",
    }


def test_what_is_ignored_in_the_place_of_a_file_of_gits_is_no_part_of_it(
    tmp_path: Path, record: Record
) -> None:
    folder = committed(tmp_path / "folder", {"build": "1", "a": "1", "c/d": "1"})
    (folder / "build").unlink()
    write_files(folder, {".gitignore": "build/\n", "build/made": "2", "e/d": "3"})
    (folder / "c/d").unlink()
    (folder / "c").rmdir()
    (folder / "c").symlink_to("e")
    assert record(folder)[1] == {".gitignore": b"build/\n", "a": b"1", "c": b"e", "e/d": b"3"}


def test_rules_of_the_repository_and_of_the_user_are_heeded(
    tmp_path: Path, record: Record, home: Path
) -> None:
    folder = committed(tmp_path / "folder", {"a": "1"})
    write_files(folder, {".git/info/exclude": "own\n!both\n"})
    write_files(
        home, {"rules": "both\nof-user\n", ".gitconfig": "[core]\nexcludesFile = ~/rules\n"}
    )
    write_files(folder, {"own": "", "both": "", "of-user": ""})
    assert [*record(folder)[1]] == ["a", "both"]


@pytest.mark.parametrize("variable", [None, "XDG_CONFIG_HOME"])
def test_rules_in_the_usual_place_are_heeded(
    tmp_path: Path,
    record: Record,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str | None,
) -> None:
    configured = home / ".config"
    if variable:
        configured = tmp_path / "configured"
        monkeypatch.setenv(variable, str(configured))
    folder = committed(tmp_path / "folder", {"a": "1"})
    write_files(configured, {"git/ignore": "of-\xfcser*\n".encode("latin-1")})
    write_files(folder, {"b": ""})
    (folder / os.fsdecode(b"of-\xfcser1")).touch()
    assert [*record(folder)[1]] == ["a", "b"]


def test_executables_and_links_are_what_they_are(
    tmp_path: Path, record: Record, repository: Repository
) -> None:
    folder = committed(tmp_path / "folder", {"run": "#!/bin/sh\n"})
    (folder / "run").chmod(0o755)
    (folder / "link").symlink_to("/etc/passwd")
    base, held = record(folder)
    assert held == {"run": b"#!/bin/sh\n", "link": b"/etc/passwd"}
    found = entries(repository, base)
    assert (found["run"].kind, found["link"].kind) == ("executable", "link")


def test_a_repository_without_a_commit_is_copied(tmp_path: Path, record: Record) -> None:
    folder = write_files(tmp_path / "folder", FILES)
    git(folder, "init", "-q")
    base, held = record(folder)
    assert (base.head, base.is_dirty, [*held]) == ("", False, ["a", "b/c"])


def test_a_repository_without_a_file_is_copied(tmp_path: Path, record: Record) -> None:
    base, held = record(committed(tmp_path / "folder", {}))
    assert (held, base.files, base.is_dirty) == ({}, 0, False)


def test_a_detached_head_is_copied(tmp_path: Path, record: Record) -> None:
    folder = committed(tmp_path / "folder", FILES)
    git(folder, "checkout", "-q", "--detach")
    assert record(folder)[0].head == git(folder, "rev-parse", "HEAD").decode()


def test_a_linked_worktree_is_copied(tmp_path: Path, record: Record) -> None:
    main = committed(tmp_path / "main", FILES)
    write_files(main, {".git/info/exclude": "own\n"})
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    write_files(tmp_path / "linked", {"own": "", "new": ""})
    before = as_it_lies(main)
    base, held = record(tmp_path / "linked")
    assert [*held] == ["a", "b/c", "new"]
    assert (base.head, base.is_dirty) == (git(main, "rev-parse", "HEAD").decode(), True)
    assert as_it_lies(main) == before


def test_a_submodule_is_named_and_not_copied(
    tmp_path: Path, record: Record, repository: Repository
) -> None:
    inner = committed(tmp_path / "inner", {"x": "1"})
    folder = committed(tmp_path / "folder", FILES)
    git(folder, "submodule", "--quiet", "add", str(inner), "sub")
    base, held = record(folder)
    assert entries(repository, base)["sub"].kind == "submodule"
    assert "sub/x" not in held
    with repository.checked_out(base.commit) as files:
        assert [*(files / "sub").iterdir()] == []


def test_a_repository_within_is_not_copied(
    tmp_path: Path, record: Record, repository: Repository
) -> None:
    folder = committed(tmp_path / "folder", FILES)
    committed(folder / "nested", {"x": "1"})
    base, _ = record(folder)
    assert entries(repository, base)["nested"].kind == "submodule"


def test_a_repository_within_that_has_no_commit_is_told(tmp_path: Path, record: Record) -> None:
    folder = committed(tmp_path / "folder", FILES)
    write_files(folder, {"nested/x": "1"})
    git(folder / "nested", "init", "-q")
    with pytest.raises(WorkspaceError, match="nested"):
        record(folder)


def test_a_plain_folder_is_copied(tmp_path: Path, record: Record) -> None:
    folder = write_files(tmp_path / "folder", {**FILES, ".gitignore": "x\n", "x": ""})
    base, held = record(folder)
    assert [*held] == [".gitignore", "a", "b/c"]
    assert (base.head, base.is_dirty) == ("", False)


def test_a_folder_within_a_repository_is_refused_with_the_whole(
    tmp_path: Path, record: Record
) -> None:
    folder = committed(tmp_path / "folder", FILES)
    with pytest.raises(WorkspaceError, match="is a part of the repository") as raised:
        record(folder / "b")
    assert str(folder) in raised.value.fix


@pytest.mark.parametrize("name", ["nothing", "a"])
def test_what_is_no_folder_is_refused(tmp_path: Path, repository: Repository, name: str) -> None:
    committed(tmp_path / "folder", FILES)
    with pytest.raises(WorkspaceError, match="is no folder"):
        record_base(repository, str(tmp_path / "folder" / name), 9)


@pytest.mark.parametrize("words", [("init", "-q", "--bare"), ("init", "-q")])
def test_a_folder_of_gits_own_is_refused(
    tmp_path: Path, record: Record, words: tuple[str, ...]
) -> None:
    (tmp_path / "folder").mkdir()
    git(tmp_path / "folder", *words)
    inside = tmp_path / "folder" / (".git" if "--bare" not in words else "")
    with pytest.raises(WorkspaceError):
        record(inside)


def test_names_of_files_are_kept_whatever_they_are(tmp_path: Path, record: Record) -> None:
    odd = ["a b", "it's", 'q"q', "new\nline", "tab\t", "é", os.fsdecode(b"\xff\xfe"), "-f", ":x"]
    odd += ["*", "[a]", "back\\slash", " lead", "trail ", "!n", "#h"]
    folder = committed(tmp_path / "folder", dict.fromkeys(odd, "1"))
    base, held = record(folder)
    assert sorted(held) == sorted(odd)
    assert not base.is_dirty


def test_a_folder_with_an_odd_name_is_copied(tmp_path: Path, record: Record) -> None:
    folder = committed(tmp_path / " fol der\n", FILES)
    assert record(folder)[1] == {"a": b"1", "b/c": b"2"}


def test_line_ends_are_kept_where_git_is_told_nothing(tmp_path: Path, record: Record) -> None:
    folder = committed(tmp_path / "folder", {"a": "1\r\n2\r\n"})
    base, held = record(folder)
    assert (held, base.is_dirty) == ({"a": b"1\r\n2\r\n"}, False)


@pytest.mark.parametrize("rule", ["* text=auto", "* text eol=crlf"])
def test_line_ends_are_those_that_git_stores_where_it_is_told_so(
    tmp_path: Path, record: Record, repository: Repository, rule: str
) -> None:
    folder = committed(tmp_path / "folder", {".gitattributes": f"{rule}\n", "a": "1\r\n2\r\n"})
    base, held = record(folder)
    assert (held["a"], base.is_dirty) == (b"1\n2\n", False)
    crlf = "crlf" in rule
    with repository.checked_out(base.commit) as files:
        assert (files / "a").read_bytes() == (b"1\r\n2\r\n" if crlf else b"1\n2\n")


def test_a_pipe_is_not_waited_for(tmp_path: Path, record: Record) -> None:
    folder = committed(tmp_path / "folder", FILES)
    os.mkfifo(folder / "pipe")
    (folder / "a").unlink()
    os.mkfifo(folder / "a")
    assert record(folder)[1] == {"b/c": b"2"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads each file")
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, repository: Repository) -> None:
    folder = committed(tmp_path / "folder", FILES)
    (folder / "a").chmod(0)
    with pytest.raises(WorkspaceError, match="can't be copied"):
        record_base(repository, str(folder), 9)


def test_a_folder_that_is_too_large_is_refused(
    tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 1)
    with pytest.raises(WorkspaceError, match="2 files of 2 bytes"):
        record(committed(tmp_path / "folder", FILES))


def test_an_outline_has_the_top_and_the_kinds_of_files() -> None:
    seen = outline(["README.md", "src/a.py", "src/b/c.py", "Makefile", ".gitignore"])
    assert seen.files == 5
    assert seen.top == ("README.md", "src/ (2 files)", "Makefile", ".gitignore")
    assert seen.kinds == ((".py", 2), (".gitignore", 1), (".md", 1), ("Makefile", 1))
