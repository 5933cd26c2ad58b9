"""Prefect's stored results: whether a call's is there."""

from __future__ import annotations

from prefect.results import get_result_store

from ...tasks.subagent.task import subagent

__all__ = ["is_stored"]


async def is_stored(key: str) -> bool:
    """Return whether the result of a subagent's call can be read, by the call's key."""
    store = await get_result_store().aupdate_for_task(subagent)
    try:
        await store.aread(key)
    except Exception:  # noqa: BLE001 - whatever is wrong with it, Prefect can't read it either
        return False
    return True
