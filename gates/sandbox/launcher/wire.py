"""The messages that the parent, the launcher and PID 1 exchange over socket pairs.

A frame is a header's length (8 bytes, big-endian), the header as JSON, then the blobs that the
header's `sizes` announce. Standard library only: the launcher runs without the package.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from typing import Literal, NotRequired, TypedDict, cast

__all__ = [
    "BOOT",
    "Allowance",
    "BackendKind",
    "Config",
    "Exceeded",
    "LauncherReport",
    "pack",
    "reader_of",
    "unpack_from",
]


_CHUNK = 1 << 20


# What starts the launcher's modules as a package of their own, without the package they lie in.
BOOT = (
    "import sys,types;p=types.ModuleType('launcher');p.__path__=[sys.argv[1]];"
    "sys.modules['launcher']=p;from launcher.main import main;main()"
)


BackendKind = Literal["bubblewrap", "namespaces", "limits-only"]


Exceeded = Literal["cpu", "wall", "memory", "output"]


class Config(TypedDict):
    """Everything the launcher has to know; sizes in bytes, times in seconds.

    `own_user` is whether a user namespace must come first, for lack of privileges. `outer_id` is
    the user and group that the program is for the rest of the machine. The launcher sets `nice`.
    Where the program `waits`, its limits count from the moment at which the parent says what it is
    to have (`Allowance`). `group` is the folder of the control group in which the sandbox may have
    one of its own; "" where there is none.
    """

    kind: BackendKind
    own_user: bool
    outer_id: int
    argv: list[str]
    environment: dict[str, str]
    work: str
    binds: list[tuple[str, str]]
    devices: list[tuple[str, str]]
    symlinks: list[tuple[str, str]]
    masks: list[str]
    rlimits: dict[str, tuple[int, int]]
    processes: int
    cpu_s: float
    wall_s: float
    memory_bytes: int
    disk_bytes: int
    filter: str
    files: list[str]
    keep: list[str]
    keep_bytes: int
    bubblewrap: str
    python: str
    nice: int
    waits: bool
    group: str


class Allowance(TypedDict):
    """What a program may use that has waited, in seconds."""

    cpu_s: float
    wall_s: float


class LauncherReport(TypedDict):
    """How the program ended: `status` is the wait status; `files` names the blobs that follow.

    Where the sandbox could not be made there is an `error`, and nothing else.
    """

    kind: BackendKind
    status: int
    exceeded: Exceeded | None
    duration_s: float
    files: list[str]
    error: NotRequired[str]


def pack(header: object, blobs: Sequence[bytes] = ()) -> bytes:
    """Return the frame of one message."""
    head = json.dumps({"header": header, "sizes": [len(blob) for blob in blobs]}).encode()
    return b"".join((len(head).to_bytes(8, "big"), head, *blobs))


def reader_of(line: socket.socket) -> Callable[[int], bytes]:
    """Return what reads from a socket, and never more than it is asked for."""

    def read(size: int) -> bytes:
        data = bytearray()
        while len(data) < size and (chunk := line.recv(min(size - len(data), _CHUNK))):
            data += chunk
        return bytes(data)

    return read


def unpack_from(read: Callable[[int], bytes]) -> tuple[object, list[bytes]]:
    """Read one frame; `read(n)` returns n bytes, or fewer at the end. Raises EOFError."""

    def exactly(size: int) -> bytes:
        data = read(size)
        if len(data) < size:
            raise EOFError
        return data

    length = int.from_bytes(exactly(8), "big")
    head = cast("dict[str, object]", json.loads(exactly(length)))
    return head["header"], [exactly(size) for size in cast("list[int]", head["sizes"])]
