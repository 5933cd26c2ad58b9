"""Nothing that a program does in the sandbox is felt outside it, or outlives it."""

from __future__ import annotations

import asyncio
import platform
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prefect_swarm.gates.sandbox.program import Ended, Limits
from prefect_swarm.gates.sandbox.spawn import Ground
from sandboxes import GROUNDS, HOSTILE, Surroundings, ground_named, run_hostile, surroundings

MIB = 1 << 20
LIMITS = Limits(cpu_s=30, wall_s=200, memory_bytes=256 * MIB, disk_bytes=8 * MIB)
SHORT = Limits(cpu_s=1, wall_s=200, disk_bytes=8 * MIB)
BRIEF = Limits(cpu_s=30, wall_s=0.5, disk_bytes=8 * MIB)


def _held(ended: Ended) -> bool:
    """The program tried everything that it had in mind, and nothing went through."""
    return ended.exit_code == 0 and ended.stdout.endswith("held\n") and ended.exceeded is None


def _cut_off(by: str) -> Callable[[Ended], bool]:
    def cut_off(ended: Ended) -> bool:
        return ended.exceeded == by and ended.exit_code is None and not ended.files

    return cut_off


def _ended_by(number: int) -> Callable[[Ended], bool]:
    return lambda ended: ended.signal == number and ended.exit_code is None


def _decoded(ended: Ended) -> bool:
    return (
        ended.stdout.startswith("\x1b[2J\x1b]0;title\x07\N{REPLACEMENT CHARACTER}")
        and "café" in ended.stdout
        and ended.stderr.startswith("\x00\x01")
    )


# What does not end by itself, or not by saying "held": its limits, and what must be true then.
ENDS: dict[str, tuple[Limits, Callable[[Ended], bool]]] = {
    "fork_bomb": (BRIEF, lambda e: _cut_off("wall")(e) and not e.stdout),
    "endless_loop": (SHORT, _cut_off("cpu")),
    "deaf_loop": (SHORT, _cut_off("cpu")),
    "shared_loop": (SHORT, _cut_off("cpu")),
    "sleeper": (BRIEF, _cut_off("wall")),
    "stopped": (BRIEF, _cut_off("wall")),
    "memory_bomb_of_many": (LIMITS, _cut_off("memory")),
    "memory_of_hidden_process": (LIMITS, _cut_off("memory")),
    "endless_output": (LIMITS, lambda e: _cut_off("output")(e) and len(e.stdout) == 256 << 10),
    "endless_errors": (LIMITS, lambda e: _cut_off("output")(e) and len(e.stderr) == 256 << 10),
    "control_characters": (LIMITS, _decoded),
    "long_line": (LIMITS, lambda e: e.stdout == "y" * 200_000 and not e.truncated),
    "by_signal": (LIMITS, _ended_by(signal.SIGSEGV)),
    "by_exit_code": (LIMITS, lambda e: e.exit_code == 143 and e.signal is None),
    "kept_sparse": (Limits(), _held),
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


@pytest.fixture(params=GROUNDS)
def ground(request: pytest.FixtureRequest) -> Ground:
    return ground_named(request.param)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hostile_program_reaches_nothing(name: str, ground: Ground, around: Surroundings) -> None:
    if name in X86_ONLY and platform.machine() != "x86_64":
        pytest.skip("its calls have other numbers here")
    limits, as_it_must = ENDS.get(name, (LIMITS, _held))
    ended = asyncio.run(run_hostile(name, ground, around, limits))
    assert as_it_must(ended), ended


def test_links_are_not_handed_back(ground: Ground, around: Surroundings) -> None:
    names = ("symlink", "absolute", "environ", "folder/file", "root/etc/hostname", "fifo")
    more = ("directory", "real/file", "honest", "twin", "missing")
    ended = asyncio.run(run_hostile("kept_links", ground, around, LIMITS, (*names, *more)))
    assert ended.files == {"real/file": b"inner", "honest": b"honest", "twin": b"honest"}


def test_a_file_swapped_for_a_link_is_never_followed(ground: Ground, around: Surroundings) -> None:
    ended = asyncio.run(run_hostile("kept_swap", ground, around, LIMITS, ("swapped",)))
    assert ended.files.get("swapped", b"") in (b"", b"mine")


def test_what_is_handed_back_is_bounded(ground: Ground, around: Surroundings) -> None:
    limits = Limits(disk_bytes=32 * MIB)
    kept = asyncio.run(run_hostile("kept_sparse", ground, around, limits, ("first", "second")))
    assert {name: len(content) for name, content in kept.files.items()} == {"first": 24 * MIB}
