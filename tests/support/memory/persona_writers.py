"""A process that decides about personas, for tests to start and to kill.

As a script: `persona_writers.py STORE WRITER COUNT` retires and restores the judge, in turn, COUNT
times in all, invents a persona of its own each time, and says the ids of the changes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from prefect_swarm.memory.personas.registry import Change, Registry, invent, restore, retire
from prefect_swarm.memory.personas.store import PersonaStore

__all__ = ["start_decider"]


@contextmanager
def start_decider(store: Path, writer: int, count: int) -> Generator[subprocess.Popen[str]]:
    """Start a process. It is killed when this is left, unless it has ended."""
    command = [sys.executable, str(Path(__file__)), str(store), str(writer), str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _retire_or_restore(registry: Registry) -> Change:
    act = restore if registry.known["judge"].status == "retired" else retire
    return act(registry, "judge", at=0.0)


def _write(path: Path, writer: int, count: int) -> None:
    store = PersonaStore(path)
    for number in range(count):
        _print_id(store.decide("default", _retire_or_restore))
        _print_id(store.decide("default", partial(_invent_expert, f"Expert {writer} {number}")))


def _invent_expert(name: str, registry: Registry) -> Change | None:
    return invent(registry, name, "You know.", "chat/text", at=0.0)


def _print_id(change: Change | None) -> None:
    print(change.id if change else "nothing", flush=True)  # noqa: T201


if __name__ == "__main__":
    _write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
