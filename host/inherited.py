"""The environment of programs that have no business with the Prefect server."""

from __future__ import annotations

import os

__all__ = ["LOGIN_VARIABLE", "without_login"]

LOGIN_VARIABLE = "PREFECT_API_AUTH_STRING"
"""The login of a Prefect server, for its clients: whoever has it may approve."""
_LOGINS = (LOGIN_VARIABLE, "PREFECT_SERVER_API_AUTH_STRING", "PREFECT_API_KEY")


def without_login() -> dict[str, str]:
    """Return this process's environment without what lets a program ask the Prefect server."""
    return {name: value for name, value in os.environ.items() if name.upper() not in _LOGINS}
