"""What gates need, started ahead of the artifacts that they check."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

__all__ = ["ready_for"]

_RUN_CODE = frozenset({"unit", "integration"})


def ready_for(gates: Iterable[str]) -> AbstractContextManager[None]:
    """Have a sandbox wait while these gates may be asked, if one of them needs it.

    It is for the thread that this is entered in, whose event loop asks the gates.
    """
    if _RUN_CODE.isdisjoint(gates):
        return nullcontext()
    # Not at import: settings are Prefect's, and a command's help needs none of it.
    from .python.supervisor import supervisor_ready

    return supervisor_ready()
