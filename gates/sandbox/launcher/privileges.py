"""Giving up everything that a program must not have, in an order that leaves nothing over."""

from __future__ import annotations

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
    "become_nobody",
    "bound_processes",
    "enter_user_namespace",
    "limit",
    "lock",
]

# Who the program is to itself.
INNER_ID = 1000


def _map(name: str, text: str) -> None:
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)


def enter_user_namespace() -> None:
    """Enter a new user namespace whose only user is this process's, as `INNER_ID`."""
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USER)
    # A change of credentials takes /proc/self away from its owner until this is set again.
    set_dumpable(True)
    _map("setgroups", "deny")
    _map("gid_map", f"{INNER_ID} {group} 1")
    _map("uid_map", f"{INNER_ID} {user} 1")


def become_nobody(outer_id: int, privileged: bool) -> None:
    """Stop being root, then own nothing but a user namespace."""
    if privileged:
        os.setgroups([])
        os.setresgid(outer_id, outer_id, outer_id)
        os.setresuid(outer_id, outer_id, outer_id)
    # The other namespaces belong to the one before it: in there nothing can be asked of them.
    enter_user_namespace()


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
