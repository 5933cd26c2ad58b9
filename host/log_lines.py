"""Lines of the package's logs as a person reads them: nothing in them hides or steers."""

from __future__ import annotations

import logging

from ..text import visible

__all__ = ["LOGGERS", "make_logs_visible", "shows_all"]

LOGGERS = (
    "llama",
    "memory",
    "models",
    "runs",
    "sandbox",
    "server",
    "tools",
    "toolsets",
    "tracing",
    "weights",
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
