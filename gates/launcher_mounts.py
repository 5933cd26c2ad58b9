"""The view of the file system that a program gets, made in a mount namespace of its own."""

from __future__ import annotations

import os
import stat

from .launcher_kernel import (
    NODEV,
    NOEXEC,
    NOSUID,
    RDONLY,
    clone_tree,
    make_mounts_private,
    mount,
    move_tree,
    pivot_root_here,
    set_attributes,
)
from .launcher_wire import Config

__all__ = ["SHARED_MEMORY", "TEMPORARY", "build_root", "mount_private"]

TEMPORARY, SHARED_MEMORY = "/tmp", "/dev/shm"  # noqa: S108 - the sandbox's own
_SKELETON = ("proc", "dev")
# A file takes a page, so more files than this are empty ones.
_BYTES_PER_FILE = 4096


def _device(path: str) -> bool:
    return stat.S_ISCHR(os.stat(path).st_mode)


def _attach(tree: int, source: str, target: str) -> None:
    """Put a cloned tree below the new root, which is the working folder."""
    place = "." + target
    if os.path.isdir(source):
        os.makedirs(place, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "a"):
            pass
    move_tree(tree, place)
    os.close(tree)


def build_root(config: Config) -> list[int]:
    """Replace the root by one that holds only what `config` names; return `mount_private`'s."""
    make_mounts_private()
    wanted = [*config["binds"], *config["devices"]]
    trees: list[tuple[int, str, str]] = []
    for source, target in wanted:
        tree = clone_tree(source)
        # Set before the tree is attached: there is no moment in which it can be written.
        set_attributes(tree, RDONLY | NOSUID | (NOEXEC if _device(source) else NODEV))
        trees.append((tree, source, target))
    # Any folder will do: once it is the root, what it covers is out of reach with the rest.
    mount("tmpfs", "/tmp", "tmpfs", NOSUID | NODEV, "size=1m,mode=0755")  # noqa: S108
    os.chdir("/tmp")  # noqa: S108
    for name in _SKELETON:
        os.mkdir(name)
    for tree, source, target in sorted(trees, key=lambda each: each[2]):
        _attach(tree, source, target)
    for target, path in config["symlinks"]:
        os.symlink(target, "." + path)
    for path in config["masks"]:
        mount("tmpfs", "." + path, "tmpfs", RDONLY | NOSUID | NODEV, "size=4k,mode=0555")
    # While the machine's /proc is still here: without it an unprivileged user may mount none.
    handles = mount_private(config, ".")
    pivot_root_here()
    set_attributes(-1, RDONLY | NOSUID | NODEV, "/")
    return handles


def mount_private(config: Config, root: str) -> list[int]:
    """Mount what is the program's own: three folders with a size, and its view of processes.

    Returns descriptors of the folders and of a /proc that shows all of the sandbox's processes.
    """
    owner = 1000 if config["own_user"] else config["outer_id"]
    size = config["disk_bytes"]
    options = f"size={size},nr_inodes={max(256, size // _BYTES_PER_FILE)}"
    handles: list[int] = []
    for path in (config["work"], TEMPORARY, SHARED_MEMORY):
        place = root + path
        os.makedirs(place, exist_ok=True)
        mount(
            "tmpfs", place, "tmpfs", NOSUID | NODEV, f"{options},mode=0700,uid={owner},gid={owner}"
        )
        handles.append(os.open(place, os.O_RDONLY | os.O_DIRECTORY))
    proc = root + "/proc"
    mount("proc", proc, "proc", NOSUID | NODEV | NOEXEC, "subset=pid")
    handles.append(os.open(proc, os.O_RDONLY | os.O_DIRECTORY))
    # The program's own view: PID 1 and whatever else it may not trace is not there at all.
    mount("proc", proc, "proc", NOSUID | NODEV | NOEXEC, "subset=pid,hidepid=4")
    return handles
