"""What is wrong with a file that others may have put there."""

from __future__ import annotations

__all__ = ["UnsafeFileError"]


class UnsafeFileError(OSError):
    """A file that is not opened: a link, a pipe, too large, or a name that leads elsewhere.

    `strerror` says what it is, as the system's own errors do.
    """
