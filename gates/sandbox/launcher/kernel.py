"""The system calls that Python's standard library lacks, by ctypes."""

from __future__ import annotations

import ctypes
import errno
import os
import platform

__all__ = [
    "NEW_CGROUP",
    "NEW_IPC",
    "NEW_NET",
    "NEW_NS",
    "NEW_PID",
    "NEW_USER",
    "NEW_UTS",
    "NODEV",
    "NOEXEC",
    "NOSUID",
    "RDONLY",
    "clear_capabilities",
    "clone_tree",
    "die_with_parent",
    "install_filter",
    "make_mounts_private",
    "make_read_only",
    "mount",
    "move_tree",
    "pivot_root_here",
    "prctl",
    "set_attributes",
    "set_dumpable",
    "unshare",
]


NEW_NS, NEW_CGROUP, NEW_UTS, NEW_IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000

# The values of MS_* (mount) and MOUNT_ATTR_* (mount_setattr) agree for these four.
RDONLY, NOSUID, NODEV, NOEXEC = 1, 2, 4, 8
MS_REC, MS_PRIVATE, MS_REMOUNT, MS_BIND = 0x4000, 0x40000, 0x20, 0x1000
# What a mount has already may not be taken from it: as statvfs names it, and as mount does.
PRESERVED = ((1024, 1024), (2048, 2048), (4096, 1 << 21))
MNT_DETACH = 2

AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
OPEN_TREE_CLONE = 1
OPEN_TREE_CLOEXEC = os.O_CLOEXEC
MOVE_MOUNT_F_EMPTY_PATH = 4

# Calls as young as these have one number on every architecture; pivot_root is old.
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP = 1, 4, 22
PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 24, 28, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECCOMP_MODE_FILTER = 2
# NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, set and locked; KEEP_CAPS locked as unset.
SECUREBITS = 0b11101111
CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _syscall(what: str, number: int, *values: int | bytes | ctypes.Array[ctypes.c_uint64]) -> int:
    converted = [ctypes.c_long(value) if isinstance(value, int) else value for value in values]
    return _check(_libc.syscall(ctypes.c_long(number), *converted), what)


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` name for new ones; raises OSError, as all here do."""
    _check(_libc.unshare(ctypes.c_int(flags)), f"unshare {flags:#x}")


def prctl(option: int, value: int | ctypes.c_void_p = 0, third: int | ctypes.c_void_p = 0) -> None:
    """Call prctl; the arguments that are left out are 0."""
    arguments = [
        item if isinstance(item, ctypes.c_void_p) else ctypes.c_ulong(item)
        for item in (value, third)
    ]
    zero = ctypes.c_ulong(0)
    _check(_libc.prctl(ctypes.c_int(option), *arguments, zero, zero), f"prctl {option}")


def die_with_parent() -> None:
    """Have the kernel kill this process once its parent is gone, however the parent went."""
    prctl(PR_SET_PDEATHSIG, 9)


def set_dumpable(allowed: bool) -> None:
    """Say whether equals may trace this process and read what /proc has of it."""
    prctl(PR_SET_DUMPABLE, int(allowed))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system of that kind."""
    _check(
        _libc.mount(
            source.encode(),
            target.encode(),
            kind.encode(),
            ctypes.c_ulong(flags),
            options.encode() or None,
        ),
        f"mount {kind} on {target}",
    )


def make_mounts_private() -> None:
    """Keep what is mounted from now on out of the machine's view."""
    _check(_libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None), "private /")


def make_read_only(path: str) -> None:
    """Make the mount at `path`, a device's, one through which its node can't be changed."""
    has = os.statvfs(path).f_flag
    flags = sum(as_mount for as_statvfs, as_mount in PRESERVED if has & as_statvfs)
    flags |= MS_REMOUNT | MS_BIND | RDONLY | NOSUID | NOEXEC
    mount("none", path, "none", flags)


def clone_tree(path: str) -> int:
    """Return a descriptor of a detached copy of the mounts at and below `path`."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    return _syscall(f"open_tree {path}", OPEN_TREE, AT_FDCWD, os.fsencode(path), flags)


def set_attributes(tree: int, flags: int, path: str = "") -> None:
    """Set attributes: of a whole detached tree, or of the one mount at `path`."""
    attributes = (ctypes.c_uint64 * 4)(flags, 0, 0, 0)
    how = 0 if path else AT_EMPTY_PATH | AT_RECURSIVE
    where = AT_FDCWD if path else tree
    size = ctypes.sizeof(attributes)
    _syscall("mount_setattr", MOUNT_SETATTR, where, os.fsencode(path), how, attributes, size)


def move_tree(tree: int, target: str) -> None:
    """Attach a detached tree at `target`."""
    _syscall(
        f"move_mount {target}",
        MOVE_MOUNT,
        *(tree, b"", AT_FDCWD, os.fsencode(target), MOVE_MOUNT_F_EMPTY_PATH),
    )


def pivot_root_here() -> None:
    """Make the working folder, which must be a mount point, the root; drop the old root."""
    number = PIVOT_ROOT.get(platform.machine())
    if number is None:
        raise OSError(f"pivot_root has no known number on {platform.machine()}")
    _syscall("pivot_root", number, b".", b".")
    # The old root is stacked on the new one now.
    _check(_libc.umount2(b".", ctypes.c_int(MNT_DETACH)), "umount the old root")
    os.chdir("/")


def clear_capabilities() -> None:
    """Give up every capability, the bounding set's and the ambient set's too, for good."""
    prctl(PR_SET_SECUREBITS, SECUREBITS)
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError as problem:
            if problem.errno != errno.EINVAL:  # EINVAL: one that this kernel doesn't know.
                raise
            break
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def install_filter(code: bytes) -> None:
    """Install a seccomp filter (classic BPF); there are no new privileges from here on."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if not code:
        return
    buffer = ctypes.create_string_buffer(code, len(code))

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    program = Filter(len(code) // 8, ctypes.addressof(buffer))
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_void_p(ctypes.addressof(program)))
