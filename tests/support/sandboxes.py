"""Shared parts of the sandbox's tests: every backend that this machine has, and what lies around
it."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from prefect_swarm.errors import SandboxError
from prefect_swarm.gates.sandbox.launched import Program, ProgramResult, SandboxLimits
from prefect_swarm.gates.sandbox.probe import candidates, verify_backend
from prefect_swarm.gates.sandbox.spawn import SandboxBackend, run_on
from prefect_swarm.models.llama.gguf import demo_model_path

HOSTILE = Path(__file__).parents[1] / "gates" / "sandbox" / "hostile"
PROJECT = Path(__file__).parents[2]
SECRET = "hunter2"  # noqa: S105 - made up for the test


# Without privileges, the tests cover what the sandbox enforces without them.
BACKENDS = {each.kind: each for each in (SandboxBackend("bubblewrap"), *candidates())}


@cache
def _refusal(name: str) -> str:
    if BACKENDS[name].kind == "bubblewrap" and not BACKENDS[name].bubblewrap:
        return "bubblewrap is not installed"
    try:
        asyncio.run(verify_backend(BACKENDS[name]))
    except SandboxError as problem:
        return problem.problem
    return ""


def backend_named(name: str) -> SandboxBackend:
    """Return the backend, or skip the test where this machine doesn't have it."""
    if reason := _refusal(name):
        pytest.skip(reason)
    return BACKENDS[name]


@dataclass(frozen=True)
class Surroundings:
    """What a test put around the sandbox, in reach of a program that is in none."""

    facts: dict[str, str]
    secret: Path
    listeners: list[socket.socket]
    marker: str = field(default_factory=lambda: f"marker-{secrets.token_hex(8)}")

    def assert_untouched(self) -> None:
        assert processes_with(self.marker) == []
        assert self.secret.read_text("utf-8") == SECRET
        assert os.listdir(self.secret.parent) == [self.secret.name]
        for listener in self.listeners:
            with pytest.raises(BlockingIOError):
                listener.accept()


@contextmanager
def surroundings(folder: Path) -> Generator[Surroundings]:
    """A secret file, servers on every kind of address, and descriptors that could be inherited."""
    secret = folder / "secret" / "file"
    secret.parent.mkdir()
    secret.write_text(SECRET, "utf-8")
    secret.chmod(0o644)
    abstract = f"prefect-swarm-{secrets.token_hex(8)}"
    with ExitStack() as stack:
        listeners = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))),
            _unix_server(stack, "\0" + abstract),
            _unix_server(stack, str(folder / "unix")),
        ]
        for listener in listeners:
            listener.setblocking(False)
            listener.set_inheritable(True)
        inherited = stack.enter_context(secret.open("rb"))
        os.set_inheritable(inherited.fileno(), True)
        facts = {
            "secret": str(secret),
            "home": str(Path.home()),
            "project": str(PROJECT),
            "model": str(demo_model_path()),
            "port": str(listeners[0].getsockname()[1]),
            "abstract": abstract,
            "unix": str(folder / "unix"),
            "pid": str(os.getpid()),
        }
        yield Surroundings(facts, secret, listeners)


def _unix_server(stack: ExitStack, address: str) -> socket.socket:
    server = stack.enter_context(socket.socket(socket.AF_UNIX))
    server.bind(address)
    server.listen()
    return server


def processes_with(marker: str) -> list[str]:
    """Return the numbers of all of this machine's processes whose command has the marker."""
    found: list[str] = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in place.read_bytes():
                found.append(place.parent.name)
        except OSError:
            continue
    return found


async def run_hostile(
    name: str,
    backend: SandboxBackend,
    around: Surroundings,
    limits: SandboxLimits,
    keep: tuple[str, ...] = (),
) -> ProgramResult:
    """Run one of the hostile programs, which knows of its surroundings."""
    files = {
        "main.py": (HOSTILE / f"{name}.py").read_bytes(),
        "attempt.py": (HOSTILE / "attempt.py").read_bytes(),
        "outside.json": json.dumps(around.facts).encode(),
    }
    program = Program(("python", "main.py", around.marker), files, keep=keep)
    return await run_on(backend, program, limits)
