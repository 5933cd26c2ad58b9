"""`patch` prints what a run changed, `apply` writes it; options of a workspace are held to it."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from prefect_swarm.cli.options import option_parameters, options_from
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.workspace.repository import Repository, folder_of
from stored_runs import stored_run
from taken_patches import RUN, git, new_repository, run_on, snapshot, take

from .conftest import Invoke, loaded_by
from .test_start import HEAVY

FILES = {"a.txt": "one\ntwo\nthree\nfour\nfive\n", "b.txt": "b\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "project", FILES)


@pytest.fixture
def run(folder: Path, swarm_home: Path) -> RunFolder:
    run = run_on(folder)
    take(run, "S1", {"a.txt": "ONE\ntwo\nthree\nfour\nfive\n"})
    take(run, "S2", {"b.txt": None, "c/é.txt": "c\n"})
    return run


def test_a_patch_is_printed_as_git_takes_it(
    run: RunFolder, folder: Path, invoke: Invoke, tmp_path: Path
) -> None:
    result = invoke("patch", RUN)
    assert (result.exit_code, result.stderr) == (0, "")
    (file := tmp_path / "x.patch").write_bytes(result.stdout_bytes)
    git(folder, "apply", "--index", str(file))
    assert (folder / "c/é.txt").read_text() == "c\n"
    assert git(folder, "status", "--short").split("\n")[:2] == ["M  a.txt", "D  b.txt"]


def test_a_step_has_a_patch_of_its_own(run: RunFolder, invoke: Invoke) -> None:
    text = invoke("patch", RUN, "--step", "s1").stdout
    assert "+ONE" in text
    assert "b.txt" not in text


def test_a_step_without_a_patch_is_named(run: RunFolder, invoke: Invoke) -> None:
    result = invoke("patch", RUN, "--step", "S3")
    assert result.exit_code == 2
    assert f"No patch of S3 was taken in run {RUN}." in result.stderr
    assert "S1, S2" in result.stderr


@pytest.mark.parametrize("command", ["patch", "apply"])
def test_a_run_without_a_workspace_is_refused(
    command: str, swarm_home: Path, invoke: Invoke
) -> None:
    stored_run(name := "11111111-2222-4000-8000-000000000000")
    result = invoke(command, name)
    assert result.exit_code == 2
    assert "has no workspace" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["patch", "apply"])
def test_a_run_that_changed_nothing_is_refused(
    command: str, folder: Path, swarm_home: Path, invoke: Invoke
) -> None:
    run_on(folder)
    result = invoke(command, RUN)
    assert result.exit_code == 2
    assert "has changed nothing in its workspace" in result.stderr


def test_changes_are_applied_and_taken_back_with_git(
    run: RunFolder, folder: Path, invoke: Invoke
) -> None:
    result = invoke("apply", RUN)
    assert result.exit_code == 0, result.stderr
    *lines, undo = result.stdout.splitlines()
    assert lines == [
        "changed  a.txt",
        "deleted  b.txt",
        "added    c/é.txt",
        f"3 files of {folder}.",
    ]
    assert undo.startswith(f"Undo: git -C {folder} apply -R ")
    subprocess.run(shlex.split(undo.removeprefix("Undo: ")), check=True)
    assert git(folder, "status", "--porcelain") == ""


def test_applied_twice_it_says_so(run: RunFolder, folder: Path, invoke: Invoke) -> None:
    invoke("apply", RUN)
    before = snapshot(folder)
    result = invoke("apply", RUN)
    assert result.exit_code == 0
    assert result.stdout == f"{folder} has all of it already: nothing was changed.\n"
    assert snapshot(folder) == before


def test_a_conflict_is_refused(run: RunFolder, folder: Path, invoke: Invoke) -> None:
    (folder / "a.txt").write_text("Uno\ntwo\nthree\nfour\nfive\n")
    result = invoke("apply", RUN)
    assert result.exit_code == 2
    assert "same places of a.txt. Nothing was changed." in result.stderr
    assert (folder / "b.txt").exists()


@pytest.mark.parametrize("command", [["patch"], ["apply"], ["apply", "--branch", "fix"]])
def test_a_repository_that_is_gone_is_made_again(
    run: RunFolder, folder: Path, invoke: Invoke, command: list[str]
) -> None:
    before = invoke("patch", RUN).stdout
    Repository(folder_of(RUN)).remove()
    result = invoke(*command, RUN)
    assert result.exit_code == 0, result.stderr
    assert invoke("patch", RUN).stdout == before


def test_a_branch_is_made_and_the_folder_stays(
    run: RunFolder, folder: Path, invoke: Invoke
) -> None:
    result = invoke("apply", RUN, "--branch", "fix")
    assert result.exit_code == 0, result.stderr
    head = git(folder, "rev-parse", "HEAD")[:12]
    assert f"The branch fix of {folder} has 2 commits on top of {head}." in result.stdout
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "log", "--format=%s", "main..fix").split("\n") == ["do S2", "do S1", ""]
    again = invoke("apply", RUN, "--branch", "fix")
    assert again.exit_code == 2
    assert "has a branch fix already" in again.stderr


def test_a_run_that_goes_on_is_not_applied(run: RunFolder, folder: Path, invoke: Invoke) -> None:
    with run.exclusive():
        result = invoke("apply", RUN)
    assert result.exit_code == 1
    assert "goes on" in result.stderr
    assert git(folder, "status", "--porcelain") == ""


def test_a_run_that_has_not_ended_says_so(run: RunFolder, invoke: Invoke) -> None:
    assert "has not ended" in invoke("apply", RUN).stderr


@pytest.mark.parametrize("command", ["patch", "apply"])
def test_no_prefect_is_imported(command: str, run: RunFolder) -> None:
    found = loaded_by(command, RUN, of=(*HEAVY, "numpy"))
    assert found == "[]"


def options_of(**given: object) -> SwarmOptions:
    names = [parameter.name for parameter in option_parameters()]
    return options_from({**dict.fromkeys(names), **given})


def test_paths_are_those_of_the_place_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "p/.venv/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to("/bin/sh")
    monkeypatch.chdir(tmp_path)
    options = options_of(workspace="p", python="p/.venv/bin/python", checks=["a b", "c"])
    assert options.workspace == str(tmp_path / "p")
    assert options.python == str(python)
    assert options.checks == ("a b", "c")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--workspace", "gone"], "gone is no folder"),
        (["--check", "pytest"], "--check was given without a workspace"),
        (["--python", "/bin/sh"], "--python was given without a workspace"),
        (["--workspace", ".", "--check", " "], "A check is empty"),
        (["--workspace", ".", "--python", "none"], "none is no program"),
        (["--workspace", "inner"], "is a part of the repository"),
    ],
)
def test_a_bad_workspace_is_refused_before_anything_is_asked(
    given: list[str], said: str, folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "inner").mkdir()
    monkeypatch.chdir(folder)
    result = invoke("run", "Fix it", *given)
    assert result.exit_code == 2
    assert said in result.stderr


def test_without_git_there_is_no_workspace(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from prefect_swarm.workspace.git import git_version

    git_version.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    result = invoke("run", "Fix it", "--workspace", folder)
    assert result.exit_code == 2
    assert "needs git" in result.stderr
