"""A client of the Prefect server whose faults are errors of this package."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.exceptions import PrefectHTTPStatusError

from ...errors import ServerError
from .schema_flow import ensure_server
from .server_access import refusal_of, shown_address

__all__ = ["address_of", "client_of_server"]

_FIX = "Start it, or set PREFECT_API_URL to yours."


@asynccontextmanager
async def client_of_server(fix: str = _FIX) -> AsyncGenerator[PrefectClient]:
    """Yield a client of the server.

    Args:
        fix: What to do where it can't be reached.

    Raises:
        ServerError: It can't be reached, or refuses.
    """
    ensure_server()
    client = get_client()
    try:
        async with client:
            yield client
    except (httpx.HTTPError, RuntimeError) as error:
        if isinstance(error, PrefectHTTPStatusError) and (refusal := refusal_of(error)) is not None:
            raise refusal from error
        # Prefect's client raises a RuntimeError when it can't connect at all.
        raise ServerError(
            f"The Prefect server at {address_of(client)} can't be reached: {error}.", fix
        ) from error


def address_of(client: PrefectClient) -> str:
    """Return a client's server as people are shown it."""
    return shown_address(str(client.api_url))
