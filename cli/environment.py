"""What has to stand in the environment before Prefect is imported."""

from __future__ import annotations

import os
import warnings

__all__ = ["quieten"]

_CONSOLE = "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"


def quieten(*, debug: bool) -> None:
    """Keep other packages' messages out of the terminal, unless the user asked for them.

    The console is muted, not the log: what runs log still goes to the Prefect server.
    """
    # Nothing leaves the machine unasked, and without a network it would only log errors.
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    if debug:
        return
    if "PREFECT_LOGGING_LEVEL" not in os.environ:
        os.environ.setdefault(_CONSOLE, "CRITICAL")
    if not os.environ.get("PYTHONWARNINGS"):
        warnings.filterwarnings("ignore", module=r"(?!prefect_swarm)")
