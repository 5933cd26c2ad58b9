"""The filter of system calls: what no honest program needs, and what no count would see."""

from __future__ import annotations

import errno
import platform
import struct
from dataclasses import dataclass

__all__ = ["filter_for"]

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
