"""A control group (cgroup v2) of a sandbox's own: the kernel itself bounds and counts in it."""

from __future__ import annotations

import contextlib
import os
import secrets
import time

__all__ = ["Group"]

_NAME = "prefect-swarm-sandbox-"
# PID 1, bubblewrap's own process, and those that start them.
_MORE_PROCESSES = 4
_MORE_BYTES = 48 << 20
_PATIENCE_S = 5.0


class Group:
    """Made below a delegated group, joined by PID 1 before it does anything, removed at the end."""

    def __init__(self, parent: str, memory_bytes: int, processes: int) -> None:
        _remove_left(parent)
        self._folder = f"{parent}/{_NAME}{os.getpid()}-{secrets.token_hex(4)}"
        os.mkdir(self._folder)
        try:
            self._write("memory.max", str(memory_bytes + _MORE_BYTES))
            self._write("memory.oom.group", "1")
            self._write("pids.max", str(processes + _MORE_PROCESSES))
            with contextlib.suppress(OSError):  # There is none where nothing is swapped.
                self._write("memory.swap.max", "0")
            # Opened by the user that may; what writes to it may be another by then.
            self._members = os.open(f"{self._folder}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            os.rmdir(self._folder)
            raise

    def join(self) -> None:
        """Become a member, with all that this process starts from now on."""
        os.write(self._members, b"0")

    def is_out_of_memory(self) -> bool:
        """Whether the kernel has ended something for what it took."""
        return self._figures("memory.events").get("oom_kill", 0) > 0

    def cpu_s(self) -> float:
        """Return the processor seconds of all that ever were in it."""
        return self._figures("cpu.stat").get("usage_usec", 0) / 1e6

    def remove(self) -> None:
        """Remove it; all its processes have ended, or are just about to."""
        os.close(self._members)
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                os.rmdir(self._folder)
                return
            time.sleep(0.002)

    def _write(self, name: str, text: str) -> None:
        with open(f"{self._folder}/{name}", "w") as file:
            file.write(text)

    def _figures(self, name: str) -> dict[str, int]:
        with contextlib.suppress(OSError), open(f"{self._folder}/{name}") as file:
            return {key: int(figure) for key, figure in map(str.split, file)}
        return {}


def _remove_left(parent: str) -> None:
    """Remove the groups of launchers that were killed."""
    for name in os.listdir(parent):
        if name.startswith(_NAME) and not os.path.exists(f"/proc/{name.split('-')[3]}"):
            with contextlib.suppress(OSError):
                os.rmdir(f"{parent}/{name}")
