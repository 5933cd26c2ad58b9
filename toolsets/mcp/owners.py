"""The servers of each event loop: who uses one shares it, and the last to leave ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from .configuration import McpEndpoint
from .owner import ServerOwner

__all__ = ["owned"]


@dataclass(slots=True)
class _Shared:
    owner: ServerOwner
    users: int = 0


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Shared]] = WeakKeyDictionary()


@asynccontextmanager
async def owned(endpoint: McpEndpoint, at_once: int) -> AsyncGenerator[ServerOwner]:
    """Yield the owner of a server in this loop; the server starts with the first request.

    Args:
        endpoint: The server; the same configuration is the same server.
        at_once: Calls that it gets at once; what the first user asks for counts.
    """
    mine = _by_loop.setdefault(asyncio.get_running_loop(), {})
    key = endpoint.model_dump_json()
    if (shared := mine.get(key)) is None:
        shared = mine[key] = _Shared(ServerOwner(endpoint, at_once))
    shared.users += 1
    try:
        yield shared.owner
    finally:
        shared.users -= 1
        if not shared.users:
            del mine[key]
            await shared.owner.close()
