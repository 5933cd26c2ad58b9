"""A program that was started ahead: used once, counted from then on, and never left behind."""

from __future__ import annotations

import asyncio
import os
import secrets
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from prefect_swarm.gates.python.run import Calls, run_jobs, supervisor_ready
from prefect_swarm.gates.sandbox import Program, SandboxLimits, spawn
from prefect_swarm.gates.sandbox.launched import launch
from prefect_swarm.gates.sandbox.launcher.wire import Allowance, pack
from prefect_swarm.gates.sandbox.spawn import SandboxBackend, StartedProgram, use
from sandboxes import BACKENDS, backend_named, processes_with

LIMITS = SandboxLimits(cpu_s=60)
WITHIN = SandboxLimits(cpu_s=20, wall_s=60)
ECHO = "import sys; print('waits', flush=True); print(sys.stdin.read())"


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> SandboxBackend:
    return backend_named(request.param)


@pytest.fixture
def marker() -> Iterator[str]:
    marker = f"marker-{secrets.token_hex(8)}"
    yield marker
    assert processes_with(marker) == []


def program(marker: str, code: str = ECHO) -> Program:
    return Program(("python", "-c", code, marker))


def until_it_waits(started: StartedProgram) -> None:
    stdout = started.launched._process.stdout
    assert stdout is not None
    assert select.select([stdout], [], [], 100)[0]


def test_each_is_used_once_and_the_next_is_started(backend: SandboxBackend, marker: str) -> None:
    given = (backend, program(marker), LIMITS)
    with spawn.prestarted(*given):
        for text in (b"first", b"second"):
            started = spawn.take(*given)
            assert started is not None
            assert spawn.take(*given) is None
            result = asyncio.run(use(started, text, WITHIN))
            assert result.stdout == f"waits\n{text.decode()}\n"
            spawn.start_next()


def test_nothing_counts_before_it_is_used(backend: SandboxBackend, marker: str) -> None:
    busy = f"import time\nwhile time.process_time() < 1.2:\n    pass\n{ECHO}"
    given = (backend, program(marker, busy), LIMITS)
    with spawn.prestarted(*given):
        started = spawn.take(*given)
        assert started is not None
        until_it_waits(started)
        result = asyncio.run(use(started, b"in time", SandboxLimits(cpu_s=0.8, wall_s=60)))
    assert (result.stdout, result.exceeded) == ("waits\nin time\n", None)


def test_a_program_that_is_used_before_it_has_started_is_not_kept_waiting(
    backend: SandboxBackend, marker: str
) -> None:
    config = pack(spawn.waiting_config(backend, program(marker), LIMITS))
    launched = launch(config + pack(Allowance(cpu_s=20, wall_s=60)))
    result = asyncio.run(spawn._converse(launched, b"", b"both heard", WITHIN))
    assert result.stdout == "waits\nboth heard\n"


@pytest.mark.parametrize(
    ("code", "limits", "exceeded"),
    [
        ("while True: pass", SandboxLimits(cpu_s=0.5, wall_s=60), "cpu"),
        ("import signal; signal.pause()", SandboxLimits(wall_s=0.3), "wall"),
        ("kept = [bytearray(b'x' * (1 << 20)) for _ in range(700)]", WITHIN, None),
    ],
)
def test_its_limits_hold_from_then_on(
    code: str, limits: SandboxLimits, exceeded: str | None, backend: SandboxBackend, marker: str
) -> None:
    given = (backend, program(marker, f"import sys; sys.stdin.read()\n{code}"), LIMITS)
    with spawn.prestarted(*given):
        started = spawn.take(*given)
        assert started is not None
        result = asyncio.run(use(started, b"", limits))
    assert (result.exceeded, result.succeeded) == (exceeded, False)


def test_what_is_not_used_ends_with_the_need_for_it(backend: SandboxBackend, marker: str) -> None:
    given = (backend, program(marker), LIMITS)
    with spawn.prestarted(*given), spawn.prestarted(*given):
        started = spawn._wanted()
        assert started is not None
        assert started.started is not None
        until_it_waits(started.started)
        assert processes_with(marker)


def test_it_ends_with_the_process_that_started_it(backend: SandboxBackend, marker: str) -> None:
    code = (
        "import os, signal, sys\n"
        "from prefect_swarm.gates.sandbox import Program, SandboxLimits, spawn\n"
        "from prefect_swarm.gates.sandbox.spawn import SandboxBackend\n"
        f"program = Program(('python', '-c', {ECHO!r}, '-'.join(sys.argv[1:])))\n"
        f"with spawn.prestarted({backend!r}, program, SandboxLimits(cpu_s=60)):\n"
        "    print('started', flush=True)\n"
        "    signal.pause()\n"
    )
    command = [sys.executable, "-c", code, *marker.split("-")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline()
        while not (found := processes_with(marker)):
            pass
        watched = [os.pidfd_open(int(pid)) for pid in found]
        caller.kill()
    for process in watched:
        assert select.select([process], [], [], 100)[0]
        os.close(process)


def test_a_thread_has_its_own_and_a_process_no_more_than_two(marker: str) -> None:
    backend = SandboxBackend("namespaces")
    started, ready = threading.Barrier(3, timeout=100), threading.Event()

    def keep() -> tuple[bool, bool]:
        given = (backend, program(marker), LIMITS)
        with spawn.prestarted(*given):
            started.wait()
            wanted = spawn._wanted()
            assert wanted is not None
            has = wanted.started is not None
            ready.wait(100)
        return has, spawn.take(*given) is None

    with ThreadPoolExecutor(3) as pool:
        found = [pool.submit(keep) for _ in range(3)]
        ready.set()
        results = [each.result() for each in found]
    assert sorted(has for has, _ in results) == [False, True, True]
    assert all(none_left for _, none_left in results)


def test_what_would_be_started_otherwise_now_is_not_used(
    backend: SandboxBackend, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = (backend, program(marker), LIMITS)
    with spawn.prestarted(*given):
        monkeypatch.setattr(spawn, "environment", lambda: {"PATH": "/usr/bin", "NEW": "1"})
        assert spawn.take(*given) is None


def test_what_has_ended_meanwhile_is_not_used(backend: SandboxBackend, marker: str) -> None:
    given = (backend, program(marker), LIMITS)
    with spawn.prestarted(*given):
        wanted = spawn._wanted()
        assert wanted is not None
        assert wanted.started is not None
        process = wanted.started.launched._process
        process.kill()
        process.wait()
        assert spawn.take(*given) is None


def test_jobs_find_nothing_of_those_before_them_in_a_supervisor_that_waited() -> None:
    code = "def f():\n    open('/tmp/x', 'a').write('x')\n    return open('/tmp/x').read()\n"
    with supervisor_ready():
        for _ in range(2):
            waited = spawn._wanted()
            assert waited is not None
            before = waited.started
            assert before is not None
            report = asyncio.run(run_jobs({"m.py": code}, [Calls(("m",), ("f()",))]))
            assert report.results is not None
            gave = [record.gave for record in report.results[0].records if record.call == 0]
            assert gave == ["x"]
            assert waited.started is not before
