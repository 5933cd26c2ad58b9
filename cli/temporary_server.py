"""A Prefect server for one command: `python -m prefect_swarm.cli.temporary_server PORT`.

It lives as long as its standard input is open, so it ends with the command that started it however
that ends. Prefect's own temporary server would be started only after all of Prefect is imported,
gets the terminal's Ctrl-C in the midst of a run, and outlives a command that is killed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

__all__ = ["serve"]

_GRACE_S = 5.0


def serve(port: int) -> None:
    """Serve until standard input is closed."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    import uvicorn
    from prefect.server.api.server import create_app

    uvicorn.run(
        create_app(ephemeral=True, final=True),
        host="127.0.0.1",
        port=port,
        log_level="critical",
        timeout_graceful_shutdown=1,
    )


def _leave_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os._exit(1)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
