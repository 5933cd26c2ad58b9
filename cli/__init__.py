"""The command line `prefect-swarm`: one module for each command or group of commands.

Slow imports (Prefect, llama.cpp) are inside the commands that need them.
"""

from __future__ import annotations

import signal
import sys

from .process import escaped_for, keep_streams, unwritten
from .terminal.interruption import terminate

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
        from .command import failure_of, show

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
    if encoding := escaped_for():
        _say(f"The output has characters that {encoding} can't encode, written as \\uXXXX here.")
        _say(f"  With PYTHONIOENCODING=utf-8 it is written as it is. {_STORED}")
    if (error := unwritten()) is None:
        return earned
    _say(f"Error: The output can't be written: {error.strerror}.")
    _say(f"  {_STORED}")
    return earned or 1


_STORED = "What a run made is stored: see `prefect-swarm runs`, then `prefect-swarm inspect RUN`."


def _say(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201 - the streams' own trouble
