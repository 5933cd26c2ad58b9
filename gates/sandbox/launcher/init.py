"""PID 1 of a sandbox: makes the program's world, starts it, outlives it, hands back its files."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import stat
import time
from typing import NoReturn

from . import kernel
from .wire import Config, pack
from .world import (
    be_expendable,
    become_nobody,
    bound_processes,
    build_root,
    limit,
    lock,
    mount_private,
)

__all__ = ["READY", "forget_streams", "init"]

READY = b"R"
_NOT_FOUND = 127
_NAMESPACES = kernel.NEW_NS | kernel.NEW_NET | kernel.NEW_IPC | kernel.NEW_UTS | kernel.NEW_CGROUP


def init(config: Config, blobs: list[bytes], outer: socket.socket) -> NoReturn:
    """Run one program and report to `outer` how it ended; never returns, whatever happens."""
    try:
        try:
            frame = _live(config, blobs, outer)
        except BaseException as problem:  # noqa: BLE001 - reported to the parent, which raises it
            frame = pack({"error": f"{type(problem).__name__}: {problem}"})
        outer.sendall(frame)
    finally:
        os._exit(0)


def _live(config: Config, blobs: list[bytes], outer: socket.socket) -> bytes:
    """Prepare, run and clear up; returns the frame that says how it ended."""
    handles = _prepare(config, blobs)
    endings = _listen()
    program = os.fork()
    if program == 0:
        _become_program(config)
    started = time.monotonic()
    forget_streams()
    socket.send_fds(outer, [READY], handles)
    for handle in handles:
        os.close(handle)
    status, cpu_s = _outlive(program, endings, outer)
    duration = time.monotonic() - started
    collected = _collect(config["keep"], config["keep_bytes"])
    header = {"status": status, "cpu_s": cpu_s, "duration_s": duration, "files": list(collected)}
    return pack(header, list(collected.values()))


def _prepare(config: Config, blobs: list[bytes]) -> list[int]:
    """Make the sandbox; returns descriptors of what the launcher is to watch."""
    # PID 1 is deaf to every signal of its children for which it has no handler.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    kernel.die_with_parent()
    os.umask(0o022)
    handles: list[int] = []
    if config["kind"] == "namespaces":
        kernel.unshare(_NAMESPACES)
        socket.sethostname("sandbox")
        handles = build_root(config)
    elif config["kind"] == "bubblewrap":
        handles = mount_private(config, "")
        for _, path in config["devices"]:
            kernel.make_read_only(path)
    if config["kind"] == "limits-only":
        be_expendable()
        kernel.install_filter(b"")
    else:
        proc = handles[-1]
        be_expendable(proc)
        become_nobody(config["outer_id"], not config["own_user"], proc)
        lock(bytes.fromhex(config["filter"]))
    os.chdir(config["work"])
    for name, content in zip(config["files"], blobs, strict=True):
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "xb") as file:
            file.write(content)
    return handles


def _become_program(config: Config) -> NoReturn:
    try:
        os.closerange(3, 4096)
        os.setsid()
        for number in signal.valid_signals():
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        kernel.die_with_parent()
        os.setpriority(os.PRIO_PROCESS, 0, config["nice"])
        limit(config["rlimits"])
        if config["kind"] == "limits-only":
            bound_processes(config["processes"])
        os.execvpe(config["argv"][0], config["argv"], config["environment"])  # noqa: S606
    except BaseException as problem:  # noqa: BLE001 - it is the program's, as a shell would say it
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        os.write(2, f"{config['argv'][0]}: {reason}\n".encode(errors="replace"))
    os._exit(_NOT_FOUND)


def forget_streams() -> None:
    """Leave the program alone with its standard streams: their ends are to be its end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _listen() -> int:
    """Return a descriptor that has something to read whenever a child has ended."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def _outlive(program: int, endings: int, outer: socket.socket) -> tuple[int, float]:
    """Wait for the program, then end what it left; return its wait status and CPU seconds."""
    poll = select.poll()
    for line in (endings, outer.fileno()):
        poll.register(line, select.POLLIN)
    while (ended := _reap(program)) is None:
        if any(line == outer.fileno() for line, _ in poll.poll()):
            # The launcher is gone, or wants this to end. The kernel's own signal may not reach
            # us here: bubblewrap gives up the right to send it.
            os._exit(1)
        os.read(endings, 1 << 12)
    # Only in a PID namespace "everything" is nothing but this sandbox.
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()
    return ended


def _reap(program: int) -> tuple[int, float] | None:
    """Reap ended children; return the wait status and CPU seconds of the program if it has."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status, used = os.wait4(-1, os.WNOHANG)
            if pid == program:
                return status, used.ru_utime + used.ru_stime
            if pid == 0:
                return None
    return None


def _collect(names: list[str], room: int) -> dict[str, bytes]:
    """Read the regular files among `names` that fit into `room` bytes together."""
    collected: dict[str, bytes] = {}
    for name in names:
        content = _read(name, room)
        if content is not None:
            room -= len(content)
            collected[name] = content
    return collected


def _read(name: str, room: int) -> bytes | None:
    """Read one file of the work folder with no link followed on the way; None if there is none."""
    *folders, last = name.split("/")
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in folders:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        # A pipe must not be waited for.
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return None
    finally:
        os.close(folder)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > room:
            return None
        with open(file, "rb", closefd=False) as opened:
            return opened.read(room)
    finally:
        os.close(file)
