"""Starts runs on a small disk of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["can_mount", "run_on_small_disk"]

_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


def can_mount() -> bool:
    """Whether this user may have a file system of their own."""
    command = [*_UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run_on_small_disk(
    disk: Path, fill: int, free: int, environment: Mapping[str, str]
) -> dict[str, Any]:
    """Run a swarm whose disk is full from one call to another; see `small_disk.py`.

    Raises:
        RuntimeError: It broke; the message has its last words.
    """
    script = str(Path(__file__).with_name("small_disk.py"))
    ended = subprocess.run(
        [*_UNSHARE, sys.executable, script, str(disk), str(fill), str(free)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode != 0:
        raise RuntimeError(ended.stderr[-3000:])
    return json.loads(ended.stdout)
