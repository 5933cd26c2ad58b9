"""Asks for namespaces, by each call there is."""

import ctypes

from attempt import call, denied

denied(
    lambda: call("unshare", 0x10000000),
    lambda: call("unshare", 0x00020000),
    lambda: call("unshare", 0x40000000),
    lambda: call("setns", 0, 0),
    lambda: call("syscall", 56, 0x10000000 | 17, 0, 0, 0, 0),
    lambda: call("syscall", 435, (ctypes.c_uint64 * 11)(0x10000000), 88),
)
