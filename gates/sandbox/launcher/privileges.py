"""Giving up everything that a program must not have, in an order that leaves nothing over."""

from __future__ import annotations

import contextlib
import os
import resource

from .kernel import (
    NEW_USER,
    clear_capabilities,
    die_with_parent,
    install_filter,
    set_dumpable,
    unshare,
)

__all__ = [
    "INNER_ID",
    "be_expendable",
    "become_nobody",
    "bound_processes",
    "enter_user_namespace",
    "is_roots_own_namespace",
    "limit",
    "lock",
]

# Who the program is to itself.
INNER_ID = 1000


def _write(proc: int | None, name: str, text: str) -> None:
    path = f"/proc/self/{name}" if proc is None else f"self/{name}"
    file = os.open(path, os.O_WRONLY, dir_fd=proc)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def enter_user_namespace(proc: int | None = None) -> None:
    """Enter a new user namespace whose only user is this process's, as `INNER_ID`.

    `proc` is a /proc that can be written to where the mounted one can't.
    """
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USER)
    # A change of credentials takes /proc/self away from its owner until this is set again.
    set_dumpable(True)
    _write(proc, "setgroups", "deny")
    _write(proc, "gid_map", f"{INNER_ID} {group} 1")
    _write(proc, "uid_map", f"{INNER_ID} {user} 1")


def be_expendable(proc: int | None = None) -> None:
    """Where the whole machine runs out of memory, the kernel is to take this first.

    With privileges nothing below this can take it back.
    """
    # What can't be traced can't write to its own /proc/self either.
    set_dumpable(True)
    with contextlib.suppress(OSError):
        _write(proc, "oom_score_adj", "1000")


def is_roots_own_namespace() -> bool:
    """Whether root here is the machine's; in a user namespace it is some other user."""
    with open("/proc/self/uid_map") as file:
        return file.read().split() == ["0", "0", "4294967295"]


def become_nobody(outer_id: int, privileged: bool, proc: int) -> None:
    """Stop being root, then own nothing but a user namespace.

    In a container whose root is the only user there is, and no root outside, it stays that one.
    """
    if privileged and outer_id != 0:
        os.setgroups([])
        os.setresgid(outer_id, outer_id, outer_id)
        os.setresuid(outer_id, outer_id, outer_id)
    # The other namespaces belong to the one before it: in there nothing can be asked of them.
    enter_user_namespace(proc)


def lock(filter_code: bytes) -> None:
    """Drop all capabilities and shut the doors; a later change of credentials would undo this."""
    clear_capabilities()
    install_filter(filter_code)
    set_dumpable(False)
    die_with_parent()


def limit(rlimits: dict[str, tuple[int, int]]) -> None:
    """Set this process's limits (soft, hard); its children inherit them."""
    for name, (soft, hard) in rlimits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        _, allowed = resource.getrlimit(kind)
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), min(hard, allowed)
        resource.setrlimit(kind, (soft, hard))


def bound_processes(more: int) -> bool:
    """Let this user have `more` processes and threads; return whether that is enforced.

    Without a user namespace the kernel counts everything of the user's. It doesn't count root's;
    and in a container it may count what can't be seen from here, and nothing could be started.
    """
    if os.getuid() == 0:
        return False
    most = _tasks_of(os.getuid()) + more
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, hard))
    try:
        child = os.fork()
    except OSError:
        resource.setrlimit(resource.RLIMIT_NPROC, (hard, hard))
        return False
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    return True


def _tasks_of(user: int) -> int:
    """Count a user's processes and threads, as far as /proc shows them."""
    count = 0
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            with open(f"/proc/{name}/status") as file:
                status = dict(line.split(":", 1) for line in file)
        except OSError:  # It has ended.
            continue
        if int(status["Uid"].split()[0]) == user:
            count += int(status["Threads"])
    return count
