"""Traces PID 1 and reads its memory."""

from attempt import call, denied

denied(
    lambda: call("ptrace", 16, 1, 0, 0),
    lambda: call("ptrace", 0x4206, 1, 0, 0),
    lambda: call("process_vm_readv", 1, None, 0, None, 0, 0),
    lambda: call("syscall", 438, 3, 0, 0),
)
