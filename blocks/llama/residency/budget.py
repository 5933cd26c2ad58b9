"""How much memory all loaded models may take together."""

from __future__ import annotations

from functools import cache

from ..machine import free_memory

__all__ = ["BUDGET_VARIABLE", "default_budget", "memory_budget"]

BUDGET_VARIABLE = "PREFECT_INTEGRATIONS_SWARM_MODEL_MEMORY_GB"
_RESERVE_SHARE = 8
_MOST_RESERVE = 2 * 10**9
"""Bytes. Gates and the memory's indexes need no more than this beside any model."""


def default_budget(free: int) -> int:
    """Return the bytes for models where the user sets none: all but an eighth, at most 2 GB.

    Args:
        free: Bytes of memory that were free before any model was loaded.
    """
    return max(0, free - min(free // _RESERVE_SHARE, _MOST_RESERVE))


def memory_budget() -> int:
    """Return the bytes that all loaded models may take together.

    Raises:
        InputError: The setting is not a number of gigabytes.
    """
    from ....settings import SwarmSettings

    given = SwarmSettings().model_memory_gb
    return default_budget(_free_at_first()) if given is None else int(given * 1e9)


@cache
def _free_at_first() -> int:
    # What is free later lacks what the models themselves have taken.
    return free_memory()
