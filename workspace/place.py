"""Where a patch belongs: what its step starts from, and how it is checked. Pure."""

from __future__ import annotations

from ..data_types import Frozen

__all__ = ["Workplace"]


class Workplace(Frozen):
    """What a step's work on a workspace begins with.

    Attributes:
        run: The run, whose repository has the commit.
        folder: The user's folder: where commands find the files, in the sandbox.
        start: The commit that the step starts from: the base with the patches of the steps that it
            depends on.
        checks: Commands that have to pass as they do without the patch.
        python: The interpreter of the project's environment; "" for this one.
    """

    run: str
    folder: str
    start: str
    checks: tuple[str, ...] = ()
    python: str = ""
