"""Nothing that a program does in the sandbox is felt outside it, or outlives it."""

from __future__ import annotations

import asyncio
import platform
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prefect_swarm.gates.sandbox.launched import ProgramResult, SandboxLimits
from prefect_swarm.gates.sandbox.spawn import SandboxBackend
from sandboxes import BACKENDS, HOSTILE, Surroundings, backend_named, run_hostile, surroundings

pytestmark = pytest.mark.attack("sandbox")

MIB = 1 << 20
LIMITS = SandboxLimits(cpu_s=30, wall_s=60, memory_bytes=256 * MIB, disk_bytes=8 * MIB)
SHORT = SandboxLimits(cpu_s=1, wall_s=60, disk_bytes=8 * MIB)
BRIEF = SandboxLimits(cpu_s=30, wall_s=0.5, disk_bytes=8 * MIB)


def _held(result: ProgramResult) -> bool:
    """The program tried everything that it had in mind, and nothing went through."""
    return result.exit_code == 0 and result.stdout.endswith("held\n") and result.exceeded is None


def _cut_off(by: str) -> Callable[[ProgramResult], bool]:
    def cut_off(result: ProgramResult) -> bool:
        return result.exceeded == by and result.exit_code is None and not result.files

    return cut_off


def _ended_by(number: int) -> Callable[[ProgramResult], bool]:
    return lambda result: result.signal == number and result.exit_code is None


def _decoded(result: ProgramResult) -> bool:
    return (
        result.stdout.startswith("\x1b[2J\x1b]0;title\x07\N{REPLACEMENT CHARACTER}")
        and "café" in result.stdout
        and result.stderr.startswith("\x00\x01")
    )


# What does not end by itself, or not by saying "held": its limits, and what must be true then.
ENDS: dict[str, tuple[SandboxLimits, Callable[[ProgramResult], bool]]] = {
    "fork_bomb": (BRIEF, lambda e: _cut_off("wall")(e) and not e.stdout),
    "endless_loop": (SHORT, _cut_off("cpu")),
    "deaf_loop": (SHORT, _cut_off("cpu")),
    "shared_loop": (SHORT, _cut_off("cpu")),
    "sleeper": (BRIEF, _cut_off("wall")),
    "stopped": (BRIEF, _cut_off("wall")),
    "memory_bomb_of_many": (LIMITS, _cut_off("memory")),
    "loop_that_is_not_waited_for": (SHORT, _cut_off("cpu")),
    "memory_of_hidden_process": (LIMITS, _cut_off("memory")),
    "memory_without_first_thread": (LIMITS, _cut_off("memory")),
    "memory_of_sockets": (LIMITS, _cut_off("memory")),
    "memory_of_datagrams": (LIMITS, _cut_off("memory")),
    "memory_of_backlog": (LIMITS, _cut_off("memory")),
    "endless_output": (LIMITS, lambda e: _cut_off("output")(e) and len(e.stdout) == 256 << 10),
    "endless_errors": (LIMITS, lambda e: _cut_off("output")(e) and len(e.stderr) == 256 << 10),
    "control_characters": (LIMITS, _decoded),
    "long_line": (LIMITS, lambda e: e.stdout == "y" * 200_000),
    "by_signal": (LIMITS, _ended_by(signal.SIGSEGV)),
    "by_exit_code": (LIMITS, lambda e: e.exit_code == 143 and e.signal is None),
    "kept_sparse": (SandboxLimits(), _held),
    "close_streams": (LIMITS, lambda e: e.exit_code == 7 and not e.stdout),
}
# They call the kernel by number.
X86_ONLY = {"chroot", "hidden_memory", "kernel_calls", "mounts", "namespaces", "tracer"}
PROGRAMS = sorted(path.stem for path in HOSTILE.glob("*.py") if path.stem != "attempt")


@pytest.fixture
def around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Surroundings]:
    monkeypatch.setenv("PREFECT_API_KEY", "hunter2")
    with surroundings(tmp_path) as found:
        yield found
        found.assert_untouched()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> SandboxBackend:
    return backend_named(request.param)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hostile_program_reaches_nothing(
    name: str, backend: SandboxBackend, around: Surroundings
) -> None:
    if name in X86_ONLY and platform.machine() != "x86_64":
        pytest.skip("its calls have other numbers here")
    limits, as_it_must = ENDS.get(name, (LIMITS, _held))
    result = asyncio.run(run_hostile(name, backend, around, limits))
    assert as_it_must(result), result


def test_links_are_not_handed_back(backend: SandboxBackend, around: Surroundings) -> None:
    names = ("symlink", "absolute", "environ", "folder/file", "root/etc/hostname", "fifo")
    more = ("directory", "real/file", "honest", "twin", "missing")
    result = asyncio.run(run_hostile("kept_links", backend, around, LIMITS, (*names, *more)))
    assert result.files == {"real/file": b"inner", "honest": b"honest", "twin": b"honest"}


def test_a_file_swapped_for_a_link_is_never_followed(
    backend: SandboxBackend, around: Surroundings
) -> None:
    result = asyncio.run(run_hostile("kept_swap", backend, around, LIMITS, ("swapped",)))
    assert result.files.get("swapped", b"") in (b"", b"mine")


def test_what_is_handed_back_is_bounded(backend: SandboxBackend, around: Surroundings) -> None:
    limits = SandboxLimits(disk_bytes=32 * MIB)
    kept = asyncio.run(run_hostile("kept_sparse", backend, around, limits, ("first", "second")))
    assert {name: len(content) for name, content in kept.files.items()} == {"first": 24 * MIB}
