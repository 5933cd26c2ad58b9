"""The system that the package runs on: POSIX, home folder, environment, logs, OpenMP's threads."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import PurePath

from ..errors import InputError
from ..text import visible

__all__ = [
    "LOGGERS",
    "LOGIN_VARIABLE",
    "UNSUPPORTED",
    "make_logs_visible",
    "no_home",
    "package_version",
    "require_llama_cpp",
    "require_posix",
    "require_pydantic_evals",
    "shows_all",
    "sleeping_threads",
    "without_login",
]


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


_WORDS = "Could not determine home directory"
"""What Python says; Prefect looks for the folder when it is imported."""


def no_home(error: BaseException) -> InputError | None:
    """Return what to tell a user where an error says that there is no home folder. Pure."""
    if not isinstance(error, RuntimeError) or _WORDS not in str(error):
        return None
    return InputError(
        "This user has no home folder: HOME isn't set, and the system doesn't know the user.",
        "Set HOME to a folder that can be written to. Prefect looks for it, whatever else is set.",
    )


def package_version() -> str:
    """Return the version of this package."""
    try:
        return version("prefect-swarm")
    except PackageNotFoundError:
        return "of a source tree"


LOGIN_VARIABLE = "PREFECT_API_AUTH_STRING"
"""The login of a Prefect server, for its clients: anyone who has it may approve."""
_LOGINS = (
    LOGIN_VARIABLE,
    "PREFECT_SERVER_API_AUTH_STRING",
    "PREFECT_API_KEY",
    "PREFECT_INTEGRATIONS_SWARM_STORE",
    "PREFECT_INTEGRATIONS_SWARM_MEMORY",
)


def without_login() -> dict[str, str]:
    """Return the environment without what lets a program ask the Prefect server or a database."""
    return {name: value for name, value in os.environ.items() if name.upper() not in _LOGINS}


LOGGERS = (
    "cluster",
    "inputs",
    "llama",
    "memory",
    "models",
    "runs",
    "sandbox",
    "server",
    "tools",
    "toolsets",
    "tracing",
)
"""The package's loggers, below `prefect_swarm`."""


def make_logs_visible() -> None:
    """Have lines of the package's loggers show what is hidden in them, wherever they go."""
    for name in LOGGERS:
        # Of a logger's parents only the handlers count.
        logger = logging.getLogger(f"prefect_swarm.{name}")
        if shows_all not in logger.filters:
            logger.addFilter(shows_all)


def shows_all(record: logging.LogRecord) -> bool:
    """Put what a person may read in the place of a line's words; the line stays."""
    record.msg, record.args = visible(record.getMessage()), ()
    if record.exc_info and record.exc_info[0]:
        record.exc_text = visible(logging.Formatter().formatException(record.exc_info))
    return True


def require_llama_cpp(*, demo: bool = False) -> None:
    """Say what to install where llama.cpp is missing, before an import fails; loads nothing.

    Args:
        demo: Whether it is for the embedded model, which an extra of its own brings along.

    Raises:
        InputError: It is missing.
    """
    if find_spec("llama_cpp") is not None:
        return
    fix = "Type: pip install 'prefect-swarm[local]'"
    if demo:
        fix = (
            "Type: pip install 'prefect-swarm[demo]', or name another model: --model openai:NAME, "
            "or for all runs PREFECT_INTEGRATIONS_SWARM_MODEL=openai:NAME"
        )
    raise InputError("Local models need llama.cpp.", fix)


def require_pydantic_evals() -> None:
    """Say what to install where pydantic-evals is missing, before an import fails; loads nothing.

    Raises:
        InputError: It is missing.
    """
    if find_spec("pydantic_evals") is None:
        raise InputError(
            "Evaluations need pydantic-evals.", "Type: pip install 'prefect-swarm[eval]'"
        )


_WAITING = {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "1000"}


@contextmanager
def sleeping_threads() -> Generator[None]:
    """Import what computes with OpenMP within this: it reads the settings once, when it is loaded.

    If the user has set one of them, nothing is changed.
    """
    ours = not any(name in os.environ for name in _WAITING)
    if ours:
        os.environ.update(_WAITING)
    try:
        yield
    finally:
        if ours:
            # Child processes must not inherit our choice.
            for name in _WAITING:
                os.environ.pop(name, None)
