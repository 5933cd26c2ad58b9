"""A script that is a fork of a ready interpreter is a script like any other."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from ready_scripts import run_script, start_script

SHOWN = """
import atexit, os, sys
import prefect_swarm.flows.swarm
from prefect.settings import get_current_settings

atexit.register(print, "the end")
print(__name__, sys.argv[1:], sys.path[0], os.environ["ASKED"], os.getcwd())
print(get_current_settings().api.url, os.getpid())
print(sys.stdin.read(), file=sys.stderr, end="")
sys.exit(3)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "script.py"


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, **more}


def test_it_has_what_it_is_given_and_ends_as_any_interpreter(script: Path) -> None:
    script.write_text(SHOWN, "utf-8")
    given = environment(ASKED="yes", PREFECT_API_URL="http://127.0.0.1:9/api")
    done = run_script(script, "a", 1, environment=given)
    first, second, last = done.stdout.splitlines()
    assert first == f"__main__ ['a', '1'] {script.parent} yes {os.getcwd()}"
    assert second.startswith("http://127.0.0.1:9/api ")
    assert last == "the end"
    assert (done.returncode, done.stderr) == (3, "")


def test_an_error_that_nothing_catches_is_shown(script: Path) -> None:
    script.write_text("raise ValueError('wrong')", "utf-8")
    done = run_script(script, environment=environment())
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ValueError: wrong"


def test_a_signal_ends_it_and_nothing_else(script: Path) -> None:
    script.write_text("import time\nprint('here', flush=True)\ntime.sleep(600)", "utf-8")
    first, second = (start_script(script, environment=environment()) for _ in range(2))
    assert first.pid != second.pid
    for started in (first, second):
        assert started.stdout.readline() == "here\n"
    first.terminate()
    assert first.communicate(60) == ("", -signal.SIGTERM)
    assert second.poll() is None
    with pytest.raises(TimeoutError, match=f"process {second.pid} still runs"):
        second.wait(0)
    second.kill()
    assert second.communicate(60) == ("", -signal.SIGKILL)


def test_what_it_is_to_do_without_can_not_be_imported(script: Path) -> None:
    script.write_text("import prefect_swarm.flows.swarm\nimport llama_cpp", "utf-8")
    done = run_script(script, environment=environment(), without=("llama_cpp",))
    assert done.returncode == 1
    assert "import of llama_cpp halted" in done.stderr
