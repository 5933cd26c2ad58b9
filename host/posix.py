"""Whether this system has what the package needs of POSIX."""

from __future__ import annotations

import sys
from pathlib import PurePath

__all__ = ["UNSUPPORTED", "require_posix"]

_NEEDED = ("fcntl",)
UNSUPPORTED = (
    "Prefect Swarm runs on Linux and macOS: this Python has no `{missing}`, which its locks need. "
    "On Windows, install it within WSL 2 (`wsl --install`)."
)
_COMMAND = "prefect-swarm"
_USAGE = 2


def require_posix() -> None:
    """Return where the package can run.

    Raises:
        ImportError: It can't; says on which systems it can.
        SystemExit: The same, where the command was started: without a traceback.
    """
    for name in _NEEDED:
        try:
            __import__(name)
        except ImportError:
            message = UNSUPPORTED.format(missing=name)
            if PurePath(sys.argv[0] if sys.argv else "").stem == _COMMAND:
                sys.stderr.write(f"Error: {message}\n")
                raise SystemExit(_USAGE) from None
            raise ImportError(message, name=name) from None
