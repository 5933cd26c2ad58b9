"""Torch's threads, told to sleep while they wait for each other.

By default they spin. On 2 cores with busy neighbours a training step then takes 30 seconds of
processor time instead of 13: whoever spins has to be taken off the core that the other one needs.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["sleeping_threads"]

_POLICY = "OMP_WAIT_POLICY"


@contextmanager
def sleeping_threads() -> Generator[None]:
    """Import torch within this: OpenMP reads the policy once, when it is loaded."""
    ours = _POLICY not in os.environ
    if ours:
        os.environ[_POLICY] = "passive"
    try:
        yield
    finally:
        if ours:
            # Child processes are not to inherit it.
            os.environ.pop(_POLICY, None)
