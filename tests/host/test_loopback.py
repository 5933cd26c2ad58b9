"""Servers on this machine are asked directly, whatever the environment says of proxies."""

from __future__ import annotations

import subprocess
import sys

import pytest
from prefect_swarm.host.network import no_proxy_variables
from provider_server import Reply, provider_server
from proxies import recording_proxy

PROXY = {"HTTP_PROXY": "http://proxy:3128"}
LOOPBACK = "localhost,127.0.0.1,::1"


@pytest.mark.parametrize(
    "environment",
    [
        PROXY,
        {"https_proxy": "http://proxy:3128"},
        {"ALL_PROXY": "socks5://proxy:1080"},
        {"Http_Proxy": "http://proxy:3128"},
    ],
    ids=str,
)
def test_this_machine_is_added_where_any_proxy_is_named(environment: dict[str, str]) -> None:
    assert no_proxy_variables(environment) == {"no_proxy": LOOPBACK, "NO_PROXY": LOOPBACK}


@pytest.mark.parametrize("environment", [{}, {"HTTP_PROXY": ""}, {"no_proxy": ""}], ids=str)
def test_nothing_is_set_where_no_proxy_is_named(environment: dict[str, str]) -> None:
    assert no_proxy_variables(environment) == {}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("corp.example", f"corp.example,{LOOPBACK}"),
        (" corp.example , .local,", f"corp.example,.local,{LOOPBACK}"),
        ("127.0.0.0/8", f"127.0.0.0/8,{LOOPBACK}"),
        ("127.0.0.1,localhost", "127.0.0.1,localhost,::1"),
        ("[::1]", "::1,localhost,127.0.0.1"),
        ("[::1]:4200", "::1,localhost,127.0.0.1"),
        ("::1/128", "::1,localhost,127.0.0.1"),
        ("fe80::/10,a", f"a,{LOOPBACK}"),
        ("[fe80::]/10,a", f"a,{LOOPBACK}"),
        ("localhost:4200", f"localhost:4200,{LOOPBACK}"),
        ("a,*", "*"),
    ],
)
def test_what_stands_in_no_proxy_stays(given: str, made: str) -> None:
    found = no_proxy_variables({**PROXY, "NO_PROXY": given})
    assert found == {"no_proxy": made, "NO_PROXY": made}


def test_each_of_the_two_variables_keeps_what_it_has() -> None:
    found = no_proxy_variables({**PROXY, "no_proxy": "a", "NO_PROXY": "b"})
    assert found == {"no_proxy": f"a,{LOOPBACK}", "NO_PROXY": f"b,{LOOPBACK}"}


def test_an_address_that_a_client_could_not_read_is_mended_without_a_proxy_too() -> None:
    assert no_proxy_variables({"NO_PROXY": "[::1],a"}) == {"NO_PROXY": "::1,a"}


CLIENTS = """
import asyncio, sys, urllib.request
if "import" in sys.argv: import prefect_swarm
import httpx, httpx2
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
port = sys.argv[1]
async def all_of_them():
    for host in ("127.0.0.1", "localhost", "[::1]"):
        for client in (httpx, httpx2):
            async with client.AsyncClient() as opened:
                try: await opened.get(f"http://{host}:{port}/x")
                except client.HTTPError: pass
        try:
            async with connect(f"ws://{host}:{port}/x", open_timeout=5): pass
        except (OSError, WebSocketException): pass
asyncio.run(all_of_them())
"""


def asked_of_proxy(code: str, *arguments: str, **variables: str) -> list[str]:
    """Run code with a proxy in its environment; return what the proxy was asked for."""
    with recording_proxy() as (environment, asked):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={**environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
    return asked


@pytest.mark.parametrize("exempt", ["", "127.0.0.0/8,[::1],fe80::/10", "corp.example"])
def test_no_client_asks_a_proxy_for_this_machine(exempt: str) -> None:
    with provider_server(lambda _: Reply("x")) as provider:
        port = provider.url.rsplit(":", 1)[1].partition("/")[0]
        assert asked_of_proxy(CLIENTS, port, "import", NO_PROXY=exempt) == []
        if not exempt:
            assert len(asked_of_proxy(CLIENTS, port)) == 9
