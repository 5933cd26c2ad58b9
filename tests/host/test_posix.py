"""A system without what the package needs is answered in one sentence, which says what to use."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Windows has none of these.
BLOCKED = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource", "termios", "pwd", "grp", "tty", "pty"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
for name in ("fcntl", "resource", "termios", "pwd", "grp", "tty", "pty"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
"""
SENTENCE = (
    "Prefect Swarm runs on Linux and macOS: this Python has no `fcntl`, which its locks need."
)


def run_blocked(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"{BLOCKED}\n{code}"],
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    "code",
    [
        "import prefect_swarm",
        "from prefect_swarm import swarm",
        "from prefect_swarm.store.folder import run_lock",
        "from prefect_swarm.cli.app import app",
    ],
)
def test_an_import_says_it(code: str) -> None:
    done = run_blocked(code)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {SENTENCE}")
    assert "WSL 2" in last


@pytest.mark.parametrize("script", ["/bin/prefect-swarm", r"prefect-swarm.exe"])
def test_the_command_says_it_without_a_traceback(script: str) -> None:
    done = run_blocked(f"sys.argv = [{script!r}, '--version']\nfrom prefect_swarm.cli import main")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"Error: {SENTENCE}")
    assert "WSL 2" in line
