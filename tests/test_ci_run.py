"""`.ci/run` installs the programs that tests need, where it can, and runs the tests in any case."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from browsers import NAMES

RUN = Path(__file__).parents[1] / ".ci" / "run"
ADD = "apt-get -qq -o DPkg::Lock::Timeout=60 install --no-install-recommends -y"


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with all that it finds; its `make` says what it was asked to make."""
    (folder := tmp_path / "bin").mkdir()
    for name in ("bash", "dirname", "env"):
        (folder / name).symlink_to(shutil.which(name) or name)
    add(folder, "id", "echo 0")
    add(folder, "make", 'echo "made $*"')
    return folder


def add(folder: Path, name: str, line: str = "") -> None:
    (path := folder / name).write_text(f"#!/bin/sh\necho {name} $* >>{folder}/../calls\n{line}\n")
    path.chmod(0o755)


def run(tools: Path, **variables: str) -> tuple[list[str], list[str]]:
    """Run it; return what it said, and its calls of `apt-get`."""
    environment = {"PATH": str(tools), **variables}
    done = subprocess.run([RUN], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "made test\n"
    calls = (tools.parent / "calls").read_text().splitlines()
    return done.stderr.splitlines(), [call for call in calls if call.startswith("apt-get")]


def test_root_installs_what_is_missing(tools: Path) -> None:
    add(tools, "apt-get")
    assert run(tools) == ([], [f"{ADD} bubblewrap", f"{ADD} chromium"])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_found_is_not_installed(tools: Path, name: str) -> None:
    for program in ("apt-get", "bwrap", name):
        add(tools, program)
    assert run(tools) == ([], [])


def test_a_browser_that_a_variable_names_is_found(tools: Path, tmp_path: Path) -> None:
    add(tools, "apt-get")
    add(tools, "bwrap")
    add(tmp_path, "browser")
    assert run(tools, CHROMIUM=str(tmp_path / "browser")) == ([], [])


def test_an_old_list_of_packages_is_renewed(tools: Path) -> None:
    # Nothing can be installed before it.
    add(tools, "apt-get", f"case $* in *update) : >{tools}/new;; esac; [ -e {tools}/new ]")
    add(tools, "bwrap")
    assert run(tools) == ([], [f"{ADD} chromium", "apt-get -qq update", f"{ADD} chromium"])


@pytest.mark.parametrize(
    ("program", "line", "why"),
    [
        ("id", "echo 1000", "only root can install it"),
        ("make", 'echo "made $*"', "there is no apt-get to install it with"),
        ("apt-get", "exit 100", "apt-get can't install it"),
    ],
)
def test_the_tests_run_without_what_cannot_be_installed(
    tools: Path, program: str, line: str, why: str
) -> None:
    add(tools, program, line)
    lines, _ = run(tools)
    assert lines == [
        f"Tests that need {package} are skipped: {why}." for package in ("bubblewrap", "chromium")
    ]
