"""What runs in the sandbox, within what, and how it ended: plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ...errors import InputError
from .launcher.wire import BackendKind, Exceeded

__all__ = ["Program", "ProgramResult", "SandboxLimits", "refuse_bad_paths", "refuse_files"]

_MIB = 1 << 20
_NOTHING: Mapping[str, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What a program may use; times in seconds, sizes in bytes.

    `cpu_s` and `memory_bytes` are sums over all its processes; files in its folders count as
    memory. `processes` counts threads too. `disk_bytes` bounds each of its three folders and each
    file. `address_bytes` bounds each process's address space, `memory_bytes` where it is None.
    `output_bytes` bounds both streams together.
    """

    cpu_s: float = 10
    wall_s: float = 30.0
    memory_bytes: int = 512 * _MIB
    processes: int = 32
    open_files: int = 64
    disk_bytes: int = 32 * _MIB
    output_bytes: int = 256 << 10
    address_bytes: int | None = None

    def rlimits(self, kind: BackendKind) -> dict[str, tuple[int, int]]:
        """Return what the kernel itself enforces, soft and hard, by `resource`'s names."""
        cpu = math.ceil(self.cpu_s)
        address = self.address_bytes or self.memory_bytes
        found = {
            # At the soft limit a signal, at the hard one the end.
            "RLIMIT_CPU": (cpu, cpu + 1),
            "RLIMIT_AS": (address, address),
            "RLIMIT_NOFILE": (self.open_files, self.open_files),
            "RLIMIT_FSIZE": (self.disk_bytes, self.disk_bytes),
            "RLIMIT_STACK": (8 * _MIB, 8 * _MIB),
            "RLIMIT_CORE": (0, 0),
            "RLIMIT_MEMLOCK": (0, 0),
            "RLIMIT_MSGQUEUE": (0, 0),
            "RLIMIT_SIGPENDING": (256, 256),
            "RLIMIT_RTPRIO": (0, 0),
            "RLIMIT_NICE": (0, 0),
        }
        # Without a user namespace the kernel counts everything else of this user's: the launcher
        # adds that to the limit.
        if kind != "limits-only":
            found["RLIMIT_NPROC"] = (self.processes + 1, self.processes + 1)
        return found


@dataclass(frozen=True, slots=True)
class Program:
    """A command and the files it needs, by their path in the work folder, where it starts.

    `argv[0] == "python"` is this interpreter. `keep` names files of the work folder to hand back.
    """

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=lambda: _NOTHING)
    stdin: bytes = b""
    keep: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program ended: by `exit_code` or by `signal`.

    `exceeded` is the limit that was its end. Output is UTF-8 with replacements and may hold control
    characters. `files` lacks those of `keep` that are not regular files or don't fit into
    `disk_bytes` together, and is empty where a limit was the end. `kind` is the backend that
    isolated it.
    """

    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str
    exceeded: Exceeded | None
    duration_s: float
    files: Mapping[str, bytes]
    kind: BackendKind

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself, with exit code 0."""
        return self.exit_code == 0 and self.exceeded is None


def refuse_bad_paths(paths: Iterable[str]) -> None:
    """Raise InputError for a path that is not plainly below the work folder."""
    for path in paths:
        parts = path.split("/")
        if "\0" in path or any(part in ("", ".", "..") for part in parts):
            raise InputError(
                f"{path!r} is not a path below the sandbox's work folder.",
                "Name it relative to that, without '..' and without empty parts.",
            )


def refuse_files(paths: Iterable[str], size: int, room: int) -> None:
    """Raise InputError for a bad path, and for files that don't fit into the work folder."""
    refuse_bad_paths(paths)
    if size > room:
        raise InputError(
            f"The program's files have {size} bytes; its folder has room for {room}.",
            "Give it fewer files, or raise SandboxLimits.disk_bytes.",
        )
