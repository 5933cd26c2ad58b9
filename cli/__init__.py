"""The command line: `prefect-swarm`. A module a command; it begins with what has to come first.

What takes long to import (Prefect, llama.cpp) is imported in the command that needs it.
Nothing else of the package imports it.
"""

from __future__ import annotations

import signal
import sys

from .progress.terminated import terminate
from .standard_streams import keep_streams, unwritten

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code."""
    signal.signal(signal.SIGTERM, terminate)
    keep_streams()
    try:
        # Here and not above: what imports this package for its name must not wait for typer.
        from .app import app

        app(prog_name="prefect-swarm")
    except (KeyboardInterrupt, RuntimeError) as error:
        # It came before a command was under way, or at its very end.
        from .failure import failure_of, show

        failure = failure_of(error)
        show(error, failure, debug="--debug" in sys.argv)
        sys.exit(failure.exit_code)
    except SystemExit as end:
        sys.exit(_code(end.code))
    finally:
        # Prefect sends its last logs when the interpreter ends; a signal then needs no traceback.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)


def _code(earned: str | int | None) -> str | int | None:
    """Return what the work has earned; nothing is well if its output was lost on a full disk."""
    sys.stdout.flush()
    if (error := unwritten()) is None:
        return earned
    print(f"Error: The output can't be written: {error.strerror}.", file=sys.stderr)  # noqa: T201
    return earned or 1
