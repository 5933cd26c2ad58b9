"""A Prefect server for one process: `python -m prefect_swarm.flows.prefect_io.server_process FD`.

It serves on a socket that the process has bound already: no other program can take the port first
and be sent what is meant for this server. Its login is in its environment.

It lives as long as its standard input is open, so it ends with the process that started it however
that ends. Prefect's own temporary server would be started only after all of Prefect is imported,
gets the terminal's Ctrl-C in the midst of a run, outlives a process that is killed, and is ended
while it still writes what it received about task runs: that is lost, with a traceback on the
terminal.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

from .temporary_server import Guard, until_quiet

if TYPE_CHECKING:
    import uvicorn

__all__ = ["serve"]


_GRACE_S = 5.0
_LOOK_S = 0.05


def serve(bound: socket.socket) -> None:
    """Serve until standard input is closed, and all that came in by then is written.

    Raises:
        RuntimeError: Its environment has no login.
    """
    os.umask(0o077)
    serving: list[uvicorn.Server] = []
    threading.Thread(target=_leave_with_parent, args=(serving,), daemon=True).start()
    import uvicorn
    from prefect.server.api.server import create_app
    from prefect.settings import get_current_settings

    login = get_current_settings().server.api.auth_string
    if login is None:
        raise RuntimeError("PREFECT_SERVER_API_AUTH_STRING is not set.")
    config = uvicorn.Config(
        Guard(create_app(ephemeral=True, final=True), login.get_secret_value()),
        log_level="critical",
        timeout_graceful_shutdown=1,
    )
    serving.append(uvicorn.Server(config))
    serving[0].run(sockets=[bound])


def _leave_with_parent(serving: list[uvicorn.Server]) -> None:
    sys.stdin.buffer.read()
    if serving:
        until_quiet(lambda: _open_work(serving[0]), time.monotonic, lambda: time.sleep(_LOOK_S))
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os._exit(1)


def _open_work(server: uvicorn.Server) -> int:
    """Count requests and streams under way, and events that nothing has taken yet."""
    from prefect.server.utilities.messaging.memory import METRICS

    events = sum(topic["published"] - topic["consumed"] for topic in list(METRICS.values()))
    return len(server.server_state.tasks) + events


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
