"""The command line: `prefect-swarm`."""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code."""
    # Here and not above: what imports this package for its name must not wait for typer.
    from .app import app

    try:
        app(prog_name="prefect-swarm")
    except BrokenPipeError:
        # Whoever read the output has left, as `head` does. Python would complain at its own end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    finally:
        # Prefect sends its last logs when the interpreter ends; Ctrl-C then needs no traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
