"""The same sandbox by bubblewrap: it makes the namespaces and the mounts, PID 1 does the rest."""

from __future__ import annotations

import os

from .mounts import SHARED_MEMORY, TEMPORARY
from .privileges import INNER_ID
from .wire import BOOT, Config

__all__ = ["bubblewrap_command"]


def bubblewrap_command(config: Config, code: str, line: int) -> list[str]:
    """Return the command that starts PID 1 on the socket `line`.

    PID 1 keeps its capabilities until it has mounted the program's own folders and has shut the
    doors. The launcher's code lies where the work folder will cover it.
    """
    work = config["work"]
    command = [
        *(config["bubblewrap"], "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"),
        *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--hostname", "sandbox", "--cap-add", "ALL"),
    ]
    if config["own_user"]:
        command += ["--unshare-user", "--uid", str(INNER_ID), "--gid", str(INNER_ID)]
    targets = [target for _, target in config["binds"]] + [path for _, path in config["symlinks"]]
    for folder in [*_ancestors(targets), "/proc", TEMPORARY, SHARED_MEMORY]:
        command += ["--dir", folder]
    for source, target in config["binds"]:
        command += ["--ro-bind", source, target]
    for target, path in config["symlinks"]:
        # PID 1 makes the others, in the program's own temporary folder.
        if not path.startswith(f"{TEMPORARY}/"):
            command += ["--symlink", target, path]
    for path in config["masks"]:
        command += ["--tmpfs", path, "--remount-ro", path]
    command += ["--proc", "/proc"]
    for source, target in config["devices"]:
        command += ["--dev-bind", source, target]
    for name in sorted(os.listdir(code)):
        if name.endswith(".py"):
            command += ["--ro-bind", f"{code}/{name}", f"{work}/{name}"]
    python = [config["python"], "-I", "-S", "-B", "-c", BOOT, work, "init", str(line)]
    return [*command, "--remount-ro", "/", "--", *python]


def _ancestors(paths: list[str]) -> list[str]:
    """Return the folders above `paths`: bubblewrap would make them, but for root alone."""
    found: set[str] = set()
    for path in paths:
        while (path := os.path.dirname(path)) != "/":
            found.add(path)
    return sorted(found)
