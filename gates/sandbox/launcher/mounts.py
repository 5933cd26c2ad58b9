"""The file system that a program sees, made in a mount namespace of its own."""

from __future__ import annotations

import os
import stat

from .kernel import (
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
from .privileges import INNER_ID
from .wire import Config

__all__ = ["SHARED_MEMORY", "TEMPORARY", "build_root", "mount_private"]

TEMPORARY, SHARED_MEMORY = "/tmp", "/dev/shm"  # noqa: S108 - the sandbox's own
_SKELETON = ("proc", "dev")
# A file takes a page, so more files than this are empty ones.
_BYTES_PER_FILE = 4096


def _device(path: str) -> bool:
    return stat.S_ISCHR(os.stat(path).st_mode)


def _temporary(path: str) -> bool:
    return path.startswith(f"{TEMPORARY}/")


def _link(config: Config, root: str, *, temporary: bool) -> None:
    for target, path in config["symlinks"]:
        if _temporary(path) == temporary:
            os.symlink(target, root + path)


def _attach(tree: int, place: str, is_folder: bool) -> None:
    """Put a cloned tree at a place that need not exist yet."""
    if is_folder:
        os.makedirs(place, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "a"):
            pass
    move_tree(tree, place)
    os.close(tree)


def build_root(config: Config) -> list[int]:
    """Replace the root by one with only what `config` names; return `mount_private`'s."""
    make_mounts_private()
    wanted = [*config["binds"], *config["devices"]]
    trees: list[tuple[str, int, bool]] = []
    for source, target in wanted:
        tree = clone_tree(source)
        # Set before the tree is attached: there is no moment in which it can be written.
        set_attributes(tree, RDONLY | NOSUID | (NOEXEC if _device(source) else NODEV))
        trees.append((target, tree, os.path.isdir(source)))
    # Any folder will do: once it is the root, what it covers is out of reach with the rest.
    mount("tmpfs", "/tmp", "tmpfs", NOSUID | NODEV, "size=1m,mode=0755")  # noqa: S108
    os.chdir("/tmp")  # noqa: S108
    for name in _SKELETON:
        os.mkdir(name)
    for target, tree, is_folder in sorted(trees):
        _attach(tree, "." + target, is_folder)
    _link(config, ".", temporary=False)
    for path in config["masks"]:
        mount("tmpfs", "." + path, "tmpfs", RDONLY | NOSUID | NODEV, "size=4k,mode=0555")
    # While the machine's /proc is still here: without it an unprivileged user may mount none.
    handles = mount_private(config, ".")
    pivot_root_here()
    set_attributes(-1, RDONLY | NOSUID | NODEV, "/")
    return handles


def mount_private(config: Config, root: str) -> list[int]:
    """Mount what is the program's own: three folders with a size, and its own /proc.

    What is shown of the machine below its temporary folder moves into the program's own. Returns
    descriptors of the folders and of a /proc that shows all of the sandbox's processes and that
    can be written to.
    """
    shown = [target for _, target in config["binds"] if _temporary(target)]
    trees = [(clone_tree(root + path), path, os.path.isdir(root + path)) for path in shown]
    owner = INNER_ID if config["own_user"] else config["outer_id"]
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
    for tree, path, is_folder in trees:
        _attach(tree, root + path, is_folder)
    _link(config, root, temporary=True)
    proc = root + "/proc"
    mount("proc", proc, "proc", NOSUID | NODEV | NOEXEC, "subset=pid")
    handles.append(os.open(proc, os.O_RDONLY | os.O_DIRECTORY))
    # The program's own /proc: PID 1 and whatever else it may not trace is not listed, and what is
    # in it (how soon the kernel ends whom, for one) can't be changed.
    mount("proc", proc, "proc", RDONLY | NOSUID | NODEV | NOEXEC, "subset=pid,hidepid=4")
    return handles
