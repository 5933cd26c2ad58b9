"""Models that a user makes in Python, of a server that tests run."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import urlsplit

from provider_server import ProviderServer
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

__all__ = ["connections_left", "made_by_hand"]


def made_by_hand(server: ProviderServer, name: str = "strong-model") -> OpenAIChatModel:
    """A model of the server with a client of its own, as pydantic-ai's pages show it."""
    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=server.url, api_key="sk-test"))


@contextmanager
def connections_left(server: ProviderServer) -> Generator[list[str]]:
    """Note the connections to the server that are dropped inside without being closed."""
    left: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        yield left
        gc.collect()
    port = urlsplit(server.url).port
    left += [str(warning.message) for warning in caught if _port(warning.source) == port]


def _port(dropped: object) -> int | None:
    """The port that a dropped connection leads to."""
    if not isinstance(dropped, asyncio.BaseTransport):
        return None
    return (dropped.get_extra_info("peername") or (None, None))[1]
