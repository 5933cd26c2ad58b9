"""What this machine is: its processor, and how much memory it has to spare."""

from __future__ import annotations

import os
import platform
from pathlib import Path

__all__ = ["free_memory", "processor_name"]

_UNKNOWN = 4 * 2**30
"""Bytes to reckon with where the system doesn't say."""


def free_memory(
    meminfo: Path = Path("/proc/meminfo"), cgroup: Path = Path("/sys/fs/cgroup")
) -> int:
    """Bytes that can be taken without swapping; what files are cached in counts as free.

    Args:
        meminfo: Linux's figures for the machine.
        cgroup: The folder with the container's, which may be allowed less.
    """
    kibibytes = _figure(meminfo, "MemAvailable:")
    free = _free_pages() if kibibytes is None else kibibytes * 1024
    limit = _limit(cgroup / "memory.max")
    if limit is None:
        return free
    return max(0, min(free, limit - (_figure(cgroup / "memory.stat", "anon") or 0)))


def processor_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name; where the system has none, what kind it is.

    Args:
        cpuinfo: Linux's description of it.
    """
    for line in _text(cpuinfo).splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _free_pages() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN


def _figure(path: Path, name: str) -> int | None:
    for line in _text(path).splitlines():
        match line.split():
            case [first, figure, *_] if first == name and figure.isdecimal():
                return int(figure)
            case _:
                pass
    return None


def _limit(path: Path) -> int | None:
    """None if there is no limit, which the file says by `max`."""
    text = _text(path).strip()
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""
