"""A user without a home folder: a container's, of a number that the system doesn't know."""

from __future__ import annotations

from ..errors import InputError

__all__ = ["no_home"]

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
