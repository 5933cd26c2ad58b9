"""A user of a container, whom the system doesn't know and who has no home folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import prefect_swarm
import pytest
from prefect.settings import PREFECT_HOME, PREFECT_LOCAL_STORAGE_PATH, temporary_settings
from prefect_swarm.data_folder import check_data_folder
from prefect_swarm.errors import InputError, StorageError
from prefect_swarm.flows.preflight import check_storage

from .conftest import COMMAND

TMP = "/tmp"  # noqa: S108 - of the user's own world
needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="bubblewrap makes the unknown user"
)
# The checkout may be in /tmp itself.
NEEDED = sorted({sys.prefix, sys.base_prefix, str(Path(prefect_swarm.__file__).parent)})
UNKNOWN = [
    "bwrap", "--unshare-user", "--uid", "54321", "--gid", "54321", "--ro-bind", "/", "/",
    "--tmpfs", TMP, *(word for path in NEEDED for word in ("--ro-bind", path, path)),
    "--dev", "/dev", "--proc", "/proc", "--chdir", TMP,
]  # fmt: skip


def as_unknown_user(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user without an entry, where nothing but /tmp can be written."""
    return subprocess.run(
        [*UNKNOWN, *command],
        env={"PATH": "/usr/bin:/bin", **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


@needs_bubblewrap
@pytest.mark.parametrize("arguments", [["runs"], ["run", "x"], ["doctor"]], ids=" ".join)
def test_a_command_names_the_variable_that_is_missing(arguments: list[str]) -> None:
    done = as_unknown_user(*COMMAND, *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "Error: This user has no home folder: HOME isn't set" in done.stderr
    assert "Set HOME to a folder that can be written to." in done.stderr


@needs_bubblewrap
def test_python_names_it_too() -> None:
    done = as_unknown_user(sys.executable, "-c", "from prefect_swarm import swarm")
    assert done.stderr.splitlines()[-1].startswith("prefect_swarm.errors.InputError: This user has")


@needs_bubblewrap
def test_the_version_needs_no_home() -> None:
    assert as_unknown_user(*COMMAND, "--version").returncode == 0


@needs_bubblewrap
def test_a_home_that_can_not_be_written_to_is_said_with_prefects_own_variable() -> None:
    done = as_unknown_user(*COMMAND, "run", "x", HOME="/nonexistent")
    assert done.returncode == 2
    assert "The data folder /nonexistent/.prefect/swarm can't be written to" in done.stderr
    assert "Set PREFECT_HOME to a folder that can be written to" in done.stderr


def test_a_data_folder_of_its_own_is_said_with_its_variable(swarm_home: Path) -> None:
    swarm_home.touch()
    with pytest.raises(InputError) as failure:
        check_data_folder("write")
    assert "Set PREFECT_INTEGRATIONS_SWARM_HOME to" in failure.value.fix


@pytest.mark.usefixtures("swarm_home")
def test_prefects_results_are_said_with_prefects_variable(tmp_path: Path) -> None:
    (blocked := tmp_path / "file").touch()
    home, results = blocked / "home", blocked / "results"
    with (
        temporary_settings({PREFECT_HOME: home, PREFECT_LOCAL_STORAGE_PATH: home / "storage"}),
        pytest.raises(StorageError, match="name another folder in PREFECT_HOME"),
    ):
        check_storage()
    with (
        temporary_settings({PREFECT_LOCAL_STORAGE_PATH: results}),
        pytest.raises(StorageError, match="in PREFECT_LOCAL_STORAGE_PATH"),
    ):
        check_storage()
