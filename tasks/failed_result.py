"""A task run that fails and has a result: a resumed run finds it as it finds that of any other."""

from __future__ import annotations

from typing import Any

from prefect import State
from prefect.states import Failed
from prefect.transactions import get_transaction

from ..text import visible

__all__ = ["failed_result"]


async def failed_result(message: str, content: dict[str, Any]) -> State[Any]:
    """Return a Failed state with a result that is stored under the task run's cache key.

    Of itself Prefect stores under a key only what a Completed task run came to.
    """
    transaction = get_transaction()
    if transaction is not None and transaction.store is not None and transaction.key:
        await transaction.store.awrite(key=transaction.key, obj=content)
    return Failed(message=visible(message), data=content)
