"""However a process ends that has servers, none of them is left."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import killed_mcp_user
import pytest


def ended(pid: int) -> bool:
    """Wait for the end of a process that is not a child of ours."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 60)[0])
    finally:
        os.close(handle)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("tool", ["hang", "block"])
def test_a_server_ends_with_a_process_that_is_killed(tool: str, how: signal.Signals) -> None:
    command = [sys.executable, killed_mcp_user.__file__, tool]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as user:
        assert user.stdout is not None
        server = int(user.stdout.readline())
        user.send_signal(how)
    assert ended(server)
