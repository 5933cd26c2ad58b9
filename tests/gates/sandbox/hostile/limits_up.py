"""Raises its own limits and lowers those of PID 1."""

import resource

from attempt import refused


def raised(kind: int) -> None:
    try:
        resource.setrlimit(kind, (1 << 40, 1 << 40))
    except ValueError as problem:
        raise OSError from problem


refused(
    lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0)),
    lambda: resource.prlimit(1, resource.RLIMIT_CPU, (1, 1)),
    lambda: raised(resource.RLIMIT_CPU),
    lambda: raised(resource.RLIMIT_AS),
    lambda: raised(resource.RLIMIT_NPROC),
    lambda: raised(resource.RLIMIT_NOFILE),
    lambda: raised(resource.RLIMIT_FSIZE),
)
