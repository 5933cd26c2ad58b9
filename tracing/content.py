"""Whether prompts, answers and the messages of errors go into spans."""

from __future__ import annotations

from ..settings import SwarmSettings

__all__ = ["content_is_exported"]


def content_is_exported() -> bool:
    """Return whether the user has asked for it.

    Raises:
        InputError: The setting has a value that isn't allowed.
    """
    return SwarmSettings().trace_content == "on"
