"""Wants a dump of a process on the machine."""

import os
import resource

from attempt import refused


def resource_up() -> None:
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))
    except ValueError as problem:
        raise OSError from problem


child = os.fork()
if not child:
    os.abort()
os.waitpid(child, 0)

refused(
    lambda: resource_up(),
    lambda: open("core"),
)
