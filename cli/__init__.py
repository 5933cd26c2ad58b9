"""The command line: `prefect-swarm`."""

from __future__ import annotations

import os
import signal
import sys

from .progress.terminated import terminate

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code."""
    signal.signal(signal.SIGTERM, terminate)
    try:
        # Here and not above: what imports this package for its name must not wait for typer.
        from .app import app

        app(prog_name="prefect-swarm")
    except KeyboardInterrupt as error:
        # It came before a command was under way, or at its very end.
        from .failure import failure_of, show

        failure = failure_of(error)
        show(error, failure, debug=False)
        sys.exit(failure.exit_code)
    except BrokenPipeError:
        # Whoever read the output has left, as `head` does. Python would complain at its own end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    finally:
        # Prefect sends its last logs when the interpreter ends; a signal then needs no traceback.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
