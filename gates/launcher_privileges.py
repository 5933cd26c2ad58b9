"""Giving up everything that a program must not have, in an order that leaves nothing over."""

from __future__ import annotations

import os
import resource

from .launcher_kernel import (
    NEW_USER,
    clear_capabilities,
    die_with_parent,
    install_filter,
    set_dumpable,
    unshare,
)

__all__ = ["INNER_ID", "become_nobody", "enter_user_namespace", "limit", "lock"]

# Who the program is to itself.
INNER_ID = 1000


def _map(name: str, text: str) -> None:
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)


def enter_user_namespace() -> None:
    """Enter a new user namespace in which this process's user is `INNER_ID` and nobody else is."""
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USER)
    # A change of credentials takes /proc/self away from its owner until this is said again.
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
    """Set this process's limits (soft, hard); they hold for its children too."""
    for name, (soft, hard) in rlimits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        _, allowed = resource.getrlimit(kind)
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), min(hard, allowed)
        resource.setrlimit(kind, (soft, hard))
