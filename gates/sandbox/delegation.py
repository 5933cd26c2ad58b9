"""Where in the machine's control groups (cgroup v2) this process may make groups of its own.

systemd delegates by `Delegate=yes`, by every user's own manager, and containers may have theirs.
What isn't delegated is left alone, even where root could write it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["delegated_group"]

# What a group has used of the processor the kernel says without a controller.
_WANTED = frozenset({"memory", "pids"})
_MARKS = ("user.delegate", "trusted.delegate")
_OWN = "prefect-swarm-processes"


def delegated_group(
    memberships: Path = Path("/proc/self/cgroup"), mounts: Path = Path("/proc/self/mountinfo")
) -> Path | None:
    """Return the group below which the sandboxes can have theirs, with memory and pids bounded.

    It is an ancestor of this process's own group, or that one: then its processes move into a
    group of their own below it, since the kernel bounds no group beside processes.
    """
    own, top = _place(memberships, mounts)
    if own is None or top is None:
        return None
    for folder in own.parents:
        if not folder.is_relative_to(top):
            break
        if _is_ours(folder) and _has_controllers(folder):
            return folder
    if _is_ours(own) and _words(own / "cgroup.controllers") >= _WANTED and _make_room(own):
        return own
    return None


def _place(memberships: Path, mounts: Path) -> tuple[Path | None, Path | None]:
    """Return the folders of this process's group and of the uppermost that can be seen."""
    with suppress(OSError, StopIteration, ValueError, IndexError):
        lines = memberships.read_text().splitlines()
        path = next(line[3:] for line in lines if line.startswith("0::"))
        for line in mounts.read_text().splitlines():
            before, _, after = line.partition(" - ")
            root, point = before.split()[3:5]
            if after.split()[0] == "cgroup2" and Path(path).is_relative_to(root):
                return Path(point) / Path(path).relative_to(root), Path(point)
    return None, None


def _is_ours(folder: Path) -> bool:
    files = (folder, folder / "cgroup.procs", folder / "cgroup.subtree_control")
    if not all(os.access(file, os.W_OK) for file in files):
        return False
    # Root may write everywhere; what is its own to arrange carries systemd's mark, or is the
    # uppermost group that a container sees, which the machine's own root doesn't look like.
    return os.geteuid() != 0 or _is_marked(folder) or _is_containers(folder)


def _is_marked(folder: Path) -> bool:
    for mark in _MARKS:
        with suppress(OSError):
            if os.getxattr(folder, mark) == b"1":
                return True
    return False


def _is_containers(folder: Path) -> bool:
    return os.path.ismount(folder) and (folder / "cgroup.events").exists()


def _has_controllers(folder: Path) -> bool:
    control = folder / "cgroup.subtree_control"
    if not _words(folder / "cgroup.controllers") >= _WANTED:
        return False
    if missing := _WANTED - _words(control):
        with suppress(OSError):
            control.write_text(" ".join(f"+{name}" for name in sorted(missing)))
    return _words(control) >= _WANTED


def _make_room(own: Path) -> bool:
    """Move the processes of a group one down, and bound its groups from now on."""
    below = own / _OWN
    with suppress(OSError):
        below.mkdir(exist_ok=True)
        for _ in range(5):  # Others may start meanwhile.
            for pid in _words(own / "cgroup.procs"):
                with suppress(ProcessLookupError):
                    (below / "cgroup.procs").write_text(pid)
            if _has_controllers(own):
                return True
    return False


def _words(file: Path) -> frozenset[str]:
    with suppress(OSError):
        return frozenset(file.read_text().split())
    return frozenset()
