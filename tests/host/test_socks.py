"""A SOCKS proxy that no client could use is named before anything starts."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.host.network import check_proxies, socks_variable, unreadable_variable


@pytest.mark.parametrize("name", ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "http_proxy"])
@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "SOCKS5"])
def test_a_variable_that_names_one_is_found(name: str, scheme: str) -> None:
    assert socks_variable({"PATH": "/bin", name: f"{scheme}://127.0.0.1:1080"}) == name


@pytest.mark.parametrize(
    "environment", [{}, {"ALL_PROXY": "http://a:1"}, {"NO_PROXY": "socks.example"}], ids=str
)
def test_others_are_not(environment: dict[str, str]) -> None:
    assert socks_variable(environment) == ""


@pytest.mark.skipif(find_spec("socksio") is not None, reason="socksio is there")
def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    with pytest.raises(InputError, match="ALL_PROXY names a SOCKS proxy") as failure:
        check_proxies()
    assert "pip install socksio" in failure.value.fix


@pytest.mark.parametrize(
    "value", ["proxy:bar:baz", "http://proxy:80a", "ftp://proxy:1", "http://", "http://[::1:80"]
)
def test_what_is_no_address_is_named(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    with pytest.raises(InputError, match="HTTPS_PROXY is not an address of a proxy") as failure:
        check_proxies()
    assert "HTTPS_PROXY=http://proxy.example:3128" in failure.value.fix


@pytest.mark.parametrize(
    "value",
    ["", "proxy", "proxy:3128", "http://u:p@proxy:1/", "HTTP://[::1]:80", "socks5h://proxy:1"],
)
def test_what_clients_take_is_taken(value: str) -> None:
    assert unreadable_variable({"http_proxy": value, "no_proxy": ":::"}) == ""
