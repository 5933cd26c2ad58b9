"""Whether prompts, answers and the messages of errors go into spans."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from ..settings import SwarmSettings

__all__ = ["content_is_exported", "content_setting_read"]

# Put in by `content_setting_read` around a run, whose spans ask for it all the time: reading the
# settings takes more than a millisecond.
_is_exported: ContextVar[bool | None] = ContextVar("content_is_exported", default=None)


def content_is_exported() -> bool:
    """Return whether the user has asked for it.

    Raises:
        InputError: The setting has a value that isn't allowed.
    """
    known = _is_exported.get()
    return SwarmSettings().trace_content == "on" if known is None else known


@contextmanager
def content_setting_read() -> Generator[None]:
    """Read the setting once for the work inside."""
    token = _is_exported.set(content_is_exported())
    try:
        yield
    finally:
        _is_exported.reset(token)
