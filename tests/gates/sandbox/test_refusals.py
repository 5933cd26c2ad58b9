"""Where a sandbox can't be held, one message says why and what to do; where it can, it is."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import os
import platform
import subprocess
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest
from prefect_swarm.errors import SandboxError
from prefect_swarm.gates.sandbox import probe
from prefect_swarm.gates.sandbox import probe as bounds
from prefect_swarm.gates.sandbox.launched import LIMITS_HINT
from prefect_swarm.gates.sandbox.spawn import SandboxBackend
from sandboxes import BACKENDS, PROJECT, backend_named

ASK = """
from prefect_swarm.errors import SandboxError
from prefect_swarm.gates.sandbox import backend_kind
try:
    print("held by", backend_kind())
except SandboxError as error:
    print(error.problem)
    print(error.fix)
"""
PRCTL = {"x86_64": 157, "aarch64": 167}
# A container whose root is the only user it has, as `unshare` makes it.
ROOTLESS = ("unshare", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc")
RUN = """
import asyncio
from prefect_swarm.gates.sandbox import Program, SandboxLimits
from prefect_swarm.gates.sandbox.probe import candidates
from prefect_swarm.gates.sandbox.spawn import run_on
for backend in candidates():
    print(asyncio.run(run_on(backend, Program(("python", "-c", "print('ran')")), SandboxLimits())))
"""


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> SandboxBackend:
    return backend_named(request.param)


def output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_container_that_forbids_prctl_is_told_so() -> None:
    if platform.machine() not in PRCTL:
        pytest.skip("its calls have other numbers here")
    denied = str(PROJECT / "tests" / "support" / "denied_call.py")
    number = str(PRCTL[platform.machine()])
    answer = output(sys.executable, denied, number, sys.executable, "-c", ASK)
    assert "This machine can't hold a sandbox." in answer
    assert "prctl 1: Operation not permitted" in answer
    assert "seccomp profile" in answer


@pytest.mark.parametrize("limit", ["NOFILE, (12, 12)", "NOFILE, (17, 17)", "NPROC, (1, 1)"])
def test_a_process_that_may_have_too_little_is_told_to_look_at_that(
    limit: str, swarm_home: Path
) -> None:
    # A folder without notes: where the bounds were found to hold, fewer programs run at once.
    setting = f"import resource; resource.setrlimit(resource.RLIMIT_{limit})\n"
    answer = output(sys.executable, "-c", setting + ASK)
    assert answer.endswith(f"{LIMITS_HINT}\n")


def test_a_container_whose_root_is_its_only_user_holds_a_sandbox() -> None:
    if subprocess.run([*ROOTLESS, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may make no container")
    ran = output(*ROOTLESS, sys.executable, "-c", RUN).splitlines()
    assert ran
    assert all("stdout='ran\\n'" in line for line in ran), ran


def test_a_bound_that_does_not_hold_is_a_reason_to_refuse(
    backend: SandboxBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *_ = bounds._BOUNDS
    # What ends by itself within what it may have was not stopped.
    loose = dataclasses.replace(first, name="some bound", code="pass")
    monkeypatch.setattr(bounds, "_BOUNDS", (loose,))
    with pytest.raises(SandboxError, match="does not isolate: some bound"):
        asyncio.run(probe.verify_backend(backend))


def test_bounds_that_were_found_to_hold_are_not_tried_again(
    backend: SandboxBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    assert not bounds.known_to_hold(backend, notes)
    asyncio.run(probe.verify_backend(backend, notes))
    assert bounds.known_to_hold(backend, notes)
    monkeypatch.setattr(bounds, "_LIMITS", None)
    monkeypatch.setattr(probe, "broken_bounds", None)
    asyncio.run(probe.verify_backend(backend, notes))
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert not bounds.known_to_hold(backend, notes)


@pytest.mark.parametrize("turns", range(1, 5))
def test_where_probe_and_bounds_both_fail_nothing_but_the_error_is_said(
    turns: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether a bound fails before, with or after the probe."""

    async def fail_after(count: int) -> NoReturn:
        for _ in range(count):
            await asyncio.sleep(0)
        raise SandboxError("no sandbox")

    def fail(*_: object) -> Coroutine[None, None, NoReturn]:
        return fail_after(next(bounds_fail))

    def fail_too(*_: object) -> Coroutine[None, None, NoReturn]:
        return fail_after(turns)

    bounds_fail = iter([1, 50, 50])
    monkeypatch.setattr(probe, "_holds", fail)
    monkeypatch.setattr(probe, "run_on", fail_too)
    with suppress(SandboxError):  # Nothing may hold its frames.
        asyncio.run(probe.verify_backend(SandboxBackend("namespaces", own_user=True)))
    gc.collect()
    assert caplog.records == []
