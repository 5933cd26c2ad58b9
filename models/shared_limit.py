"""A provider's limit that processes share: one of Prefect's global concurrency limits.

Each request takes a slot of it while it is under way. Slots are taken by the server's own calls:
Prefect's `concurrency` loses an answer where the server is away when its slot is given back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, asynccontextmanager
from typing import Any
from uuid import UUID

import httpx

from ..errors import InputError, ServerError
from .request_context import ITS_TURN, SharedLimit, Waiting, current_request, waiting

__all__ = ["find_limits", "shared_slot"]

LEASE_S = 60.0
"""How long a slot is held without a word of who holds it; the server takes no less."""
_RENEW_S = 0.75 * LEASE_S
_GIVE_BACK_S = 10.0
_LONGEST_PAUSE_S = 2.0
"""The server's word on when a slot is free goes by the past, and is up to 30 s."""
_TAKEN = 423
_AWAY = (httpx.HTTPError, OSError, RuntimeError)
"""What Prefect's client raises where the server is away; a RuntimeError if it can't connect."""

_logger = logging.getLogger("prefect_swarm.models")


async def find_limits(names: Mapping[str, str]) -> dict[str, SharedLimit]:
    """Look the limits of providers up on the Prefect server.

    Args:
        names: Names of limits, by the provider.

    Raises:
        InputError: One isn't there, is switched off or has no slot.
        ServerError: The server can't be asked.
    """
    return {provider: await _find(provider, name) for provider, name in names.items()}


async def _find(provider: str, name: str) -> SharedLimit:
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound

    try:
        async with get_client() as client:
            found = await client.read_global_concurrency_limit_by_name(name)
    except ObjectNotFound:
        raise InputError(
            f"The Prefect server has no concurrency limit {name!r} for {provider}.",
            f"Make it: prefect gcl create {name} --limit 20",
        ) from None
    except _AWAY as error:
        raise ServerError(
            f"The concurrency limit {name!r} of {provider} can't be looked up: {error!r}.",
            "Check PREFECT_API_URL, and that the Prefect server is up.",
        ) from error
    if not found.active:
        raise InputError(
            f"The concurrency limit {name!r} of {provider} is switched off.",
            f"Switch it on: prefect gcl enable {name}",
        )
    if found.limit < 1:
        raise InputError(
            f"The concurrency limit {name!r} of {provider} has no slot.",
            f"Give it some: prefect gcl update {name} --limit 20",
        )
    return SharedLimit(name, found.slot_decay_per_second > 0)


@asynccontextmanager
async def shared_slot(provider: str) -> AsyncGenerator[None]:
    """Hold a slot of the provider's shared limit, if the run names one.

    The wait for it is told as one for the provider. Where the server can't be asked, or has the
    limit no more, the request is made without one: what the provider doesn't take, it refuses.
    """
    limit = current_request().limits.get(provider)
    lease = await _take(provider, limit) if limit is not None else None
    if lease is None:
        yield
        return
    renewing = asyncio.create_task(_renew(lease))
    try:
        yield
    finally:
        renewing.cancel()
        await _give_back(lease)


async def _take(provider: str, limit: SharedLimit) -> UUID | None:
    """Take a slot, and return what it is held by; None if there is nothing to give back."""
    with ExitStack() as shown:
        is_shown = False
        while True:
            try:
                answer: Any = (await _asked_for(limit)).json()
            except httpx.HTTPStatusError as error:
                if error.response.status_code != _TAKEN:
                    _note_without(provider, limit, repr(error))
                    return None
                pause = float(error.response.headers.get("Retry-After", _LONGEST_PAUSE_S))
            except _AWAY as error:
                _note_without(provider, limit, repr(error))
                return None
            else:
                if not (answer if limit.is_rate else answer["limits"]):
                    _note_without(provider, limit, "it is there no more")
                    return None
                return None if limit.is_rate else UUID(answer["lease_id"])
            if not is_shown:
                shown.enter_context(waiting(Waiting(provider, ITS_TURN)))
                is_shown = True
            await asyncio.sleep(min(pause, _LONGEST_PAUSE_S))


async def _asked_for(limit: SharedLimit) -> httpx.Response:
    from prefect.client.orchestration import get_client

    async with get_client() as client:
        if limit.is_rate:
            return await client.increment_concurrency_slots([limit.name], 1, "rate_limit")
        return await client.increment_concurrency_slots_with_lease(
            [limit.name], 1, "concurrency", LEASE_S
        )


async def _renew(lease: UUID) -> None:
    from prefect.client.orchestration import get_client

    while True:
        await asyncio.sleep(_RENEW_S)
        try:
            async with get_client() as client:
                await client.renew_concurrency_lease(lease, LEASE_S)
        except _AWAY as error:
            _logger.warning("The slot of a request can't be kept: %r", error)


async def _give_back(lease: UUID) -> None:
    """Give a slot back; one that can't be is free again once its lease is over."""
    from prefect.client.orchestration import get_client

    try:
        async with asyncio.timeout(_GIVE_BACK_S), get_client() as client:
            await client.release_concurrency_slots_with_lease(lease)
    except _AWAY as error:
        _logger.warning("The slot of a request can't be given back: %r", error)


def _note_without(provider: str, limit: SharedLimit, why: str) -> None:
    """Warn once of a limit that doesn't hold."""
    if limit.name not in _without:
        _without.add(limit.name)
        _logger.warning(
            "Requests to %s are made without the concurrency limit %s: %s",
            provider,
            limit.name,
            why,
        )


# Written and read by `_note_without` alone: one warning a process is enough.
_without: set[str] = set()
