"""Each act of a check begins with no process of the one before it, and with files of its own."""

from __future__ import annotations

import asyncio
from typing import Any

from prefect_swarm.gates.python.run import Calls, JobResult, Tests, run_jobs

LEAVES = """
import os, signal, subprocess, sys
from pathlib import Path

def leave():
    here = Path.cwd()
    (here / "m.py").write_text("def f():\\n    return 'changed'\\n")
    (here / "more").write_text("x")
    deep = Path("/dev/shm")
    for _ in range(600):
        os.chdir(deep)
        deep = Path("d" * 60)
        deep.mkdir()
        deep.chmod(0o700)
    Path("locked").mkdir()
    Path("locked/file").write_text("x")
    os.chmod("locked", 0)
    Path("/tmp/left").write_text("x")
    os.symlink("/usr", "/tmp/link")
    Path("/tmp/locked").mkdir()
    Path("/tmp/locked/file").write_text("x")
    os.chmod("/tmp/locked", 0)
    os.chmod("/tmp", 0)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.pause()
        os._exit(0)
    return here.name

def f():
    return "as it was"
"""
LOOKS = """
import os
from pathlib import Path

import m

def test_nothing_is_left():
    assert m.f() == "as it was"
    assert sorted(os.listdir()) == ["m.py", "test_m.py"]
    kept = {"left", "link", "locked"}  # The interpreter may lie below /tmp itself.
    assert not kept.intersection(os.listdir("/tmp")) and not os.listdir("/dev/shm")
    # hidepid leaves what may be looked at; PID 1 and the supervisor may not.
    assert [name for name in os.listdir("/proc") if name.isdecimal()] == [str(os.getpid())]

def test_only_what_is_needed_is_there():
    found = [Path(folder, name) for folder, _, names in os.walk("..") for name in names]
    assert sorted(map(str, found)) == ["../code/m.py", "../code/test_m.py"]
"""


def results(texts: dict[str, str], jobs: list[Calls | Tests]) -> list[JobResult]:
    report = asyncio.run(run_jobs(texts, jobs))
    assert report.results is not None
    return list(report.results)


def gave(result: JobResult) -> list[Any]:
    return [record.gave for record in result.records if record.call is not None]


def test_an_act_finds_nothing_of_the_one_before_it() -> None:
    tests = Tests({"test_m.py": ("test_m", LOOKS)})
    left, looked = results({"m.py": LEAVES}, [Calls(("m",), ("leave()",)), tests])
    assert gave(left) == ["code"]
    outcomes = {record.test: (record.outcome, record.raised) for record in looked.records}
    outcomes.pop(None)
    assert {outcome for outcome, _ in outcomes.values()} == {"passed"}, outcomes
    assert len(outcomes) == 2


def test_an_act_finds_no_text_of_the_next() -> None:
    # A job's process is a copy of the supervisor: what that has read, it could search for.
    code = """
import gc, os

def searched(*parts):
    wanted = "".join(parts)
    files = [name for _, _, names in os.walk("/sandbox") for name in names]
    gc.unfreeze()
    held = [each for each in gc.get_objects() if isinstance(each, (dict, list, tuple))]
    return [files, sum(wanted in str(each) for each in held)]
"""
    tests = Tests({"test_secret.py": ("test_secret", "MARK = 'zq7x-k9vw'\n\ndef test_a(): ...\n")})
    call = "searched('zq7x', '-k9vw')"
    looked, _ = results({"m.py": code}, [Calls(("m",), (call,)), tests])
    (found,) = gave(looked)
    assert found == {"list": [{"list": ["m.py"]}, 0]}


def test_a_process_that_an_act_leaves_does_not_hold_up_the_next() -> None:
    code = "import os, signal\n\ndef f():\n    if os.fork() == 0:\n        signal.pause()\n"
    first, second = results({"m.py": code}, [Calls(("m",), ("f()",)), Calls(("m",))])
    assert first.done
    assert second.done
