"""The toolset `web`, and addresses that it can't reach."""

from __future__ import annotations

import asyncio
import importlib
import json
import socket
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from office_files import book_of
from pdf_files import pdf_of
from picture_files import picture_bytes
from prefect_swarm.errors import InputError, ToolsetError
from prefect_swarm.inputs.pictures import picture_of
from prefect_swarm.toolsets import web
from prefect_swarm.toolsets.catalogue import is_acting, is_idempotent
from prefect_swarm.toolsets.web import WebSource, read_pages
from pydantic_ai import _ssrf
from quoted_texts import without_marks
from toolset_calls import calls_of, in_loop, use_in

PAGES: dict[str, tuple[str, bytes]] = {
    "/page": ("text/html", b"<title>Nile</title><h1>Nile</h1><p>It is <b>6650</b> km long.</p>"),
    "/long": ("text/plain", b"0123456789" * 2000),
    "/report": ("application/pdf", pdf_of("The third quarter")),
    "/photo": ("image/png", b"\x89PNG\0\0"),
    "/huge": ("text/plain", b"x" * (9 << 20)),
    "/shot": ("image/png", picture_bytes()),
    "/data.json": ("application/json", b'[{"a": 1}]'),
    "/book": ("application/octet-stream", book_of(One=[["x"]])),
    "/files/book.xlsx": ("application/octet-stream", book_of(One=[["x"]])),
    "/empty": ("text/html", b"<script>all()</script>"),
}


class Site(ThreadingHTTPServer):
    """Serves pages and redirects, never answers to /hang, and knows what it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.ended = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Site  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        path, _, target = self.path.partition("?to=")
        self.server.asked.append(path)
        if path == "/hang":
            self.server.ended.wait()
            return
        if path in ("/go", "/round"):
            self.send_response(302)
            self.send_header("Location", target or path)
            self.end_headers()
            return
        kind, body = PAGES.get(path, ("", b""))
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", kind or "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            return

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called
        return


@contextmanager
def served() -> Generator[Site]:
    with Site() as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield site
        finally:
            site.ended.set()
            site.shutdown()
            thread.join()


@pytest.fixture
def site() -> Generator[Site]:
    with served() as site:
        yield site


@pytest.fixture
def public_site(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site whose address, and no other of this machine, counts as a public one."""
    is_private = _ssrf.is_private_ip

    def is_another(ip: str) -> bool:
        return ip != "127.0.0.1" and is_private(ip)

    monkeypatch.setattr(_ssrf, "is_private_ip", is_another)
    return site


class Engine:
    """Searches in DuckDuckGo's place."""

    def __init__(self, results: object) -> None:
        self.results = results
        self.queries: list[tuple[str, int | None]] = []

    def text(self, query: str, max_results: int | None = None) -> object:
        self.queries.append((query, max_results))
        if isinstance(self.results, Exception):
            raise self.results
        return self.results


@in_loop
async def test_all_tools_only_read(tmp_path: Path) -> None:
    async with calls_of(WebSource(), use_in(tmp_path)) as tools:
        assert set(tools.definitions) == {"search", "fetch"}
        assert all(is_idempotent(tool) for tool in tools.definitions.values())
        assert not any(is_acting(tool) for tool in tools.definitions.values())


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "[::1]", "localhost", "127.1", "2130706433", "0.0.0.0"),  # noqa: S104
        *("[::ffff:127.0.0.1]", "127.0.0.1.", "LOCALHOST"),
    ],
)
@in_loop
@pytest.mark.attack("web")
async def test_this_machine_is_refused_by_any_name(site: Site, tmp_path: Path, host: str) -> None:
    async with calls_of(WebSource(), use_in(tmp_path)) as tools:
        answer = await tools.failure("fetch", url=f"http://{host}:{site.server_port}/page")
    assert "is blocked" in answer
    assert "force_download" not in answer
    assert site.asked == []


@pytest.mark.parametrize(
    "host",
    [
        *("10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("[fe80::1]", "[fd00::1]", "[64:ff9b::a00:1]", "168.63.129.16"),
    ],
)
@in_loop
@pytest.mark.attack("web")
async def test_private_networks_are_refused(tmp_path: Path, host: str) -> None:
    async with calls_of(WebSource(), use_in(tmp_path)) as tools:
        assert "is blocked" in await tools.failure("fetch", url=f"http://{host}/")


@pytest.mark.parametrize(
    "target", ["http://127.0.0.2:1/", "http://[::1]/", "http://10.1.2.3/", "//169.254.169.254/x"]
)
@in_loop
@pytest.mark.attack("web")
async def test_redirects_into_private_networks_are_refused(
    public_site: Site, tmp_path: Path, target: str
) -> None:
    async with calls_of(WebSource(), use_in(tmp_path)) as tools:
        answer = await tools.failure("fetch", url=f"{public_site.url}/go?to={target}")
    assert "is blocked" in answer
    assert public_site.asked == ["/go"]


@in_loop
@pytest.mark.attack("web")
async def test_a_name_that_leads_to_a_private_address_among_others_is_refused(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolved(*_: object, **__: object) -> list[tuple[Any, ...]]:
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*kind, (address, 0)) for address in ("93.184.216.34", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    async with calls_of(WebSource(), use_in(tmp_path)) as tools:
        url = f"http://rebinding.example:{site.server_port}/page"
        assert "(127.0.0.1) is blocked" in await tools.failure("fetch", url=url)
    assert site.asked == []


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x.example/", "nonsense", "http://"])
@in_loop
@pytest.mark.attack("web")
async def test_what_is_no_address_of_a_page_is_refused(tmp_path: Path, url: str) -> None:
    async with calls_of(WebSource(), use_in(tmp_path)) as tools:
        assert (await tools.failure("fetch", url=url)).startswith(f"Failed to fetch {url}")


@in_loop
async def test_pages_become_markdown(public_site: Site, tmp_path: Path) -> None:
    async with calls_of(WebSource(), use_in(tmp_path)) as tools:
        page = without_marks(await tools.call("fetch", url=f"{public_site.url}/page"))
        report = await tools.call("fetch", url=f"{public_site.url}/go?to=/report")
    head, _, text = page.partition("\n")
    assert head == f"[{public_site.url}/page: Nile, characters 0 to {len(text)} of {len(text)}]"
    assert "It is **6650** km long." in text
    assert without_marks(report).endswith("[page 1]\nThe third quarter")


@in_loop
async def test_a_long_page_is_read_in_parts(public_site: Site, tmp_path: Path) -> None:
    async with calls_of(WebSource(), use_in(tmp_path)) as tools:
        first = await tools.call("fetch", url=f"{public_site.url}/long")
        assert first.endswith("\n[It goes on: start=12000.]")
        last = await tools.call("fetch", url=f"{public_site.url}/long", start=12_000)
    assert without_marks(last).endswith(
        "characters 12,000 to 20,000 of 20,000]\n" + "0123456789" * 800
    )


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/missing", "404"),
        ("/huge", "exceeds the maximum size"),
        ("/photo", "is a binary file"),
        ("/round", "Too many redirects"),
    ],
)
@in_loop
async def test_what_cannot_be_read_is_said(
    public_site: Site, tmp_path: Path, path: str, says: str
) -> None:
    async with calls_of(WebSource(), use_in(tmp_path)) as tools:
        assert says in await tools.failure("fetch", url=f"{public_site.url}{path}")


@in_loop
async def test_a_page_that_never_comes_is_given_up(public_site: Site, tmp_path: Path) -> None:
    async with calls_of(WebSource(patience_s=0.2), use_in(tmp_path)) as tools:
        answer = await tools.failure("fetch", url=f"{public_site.url}/hang")
    assert answer == f"Fetching {public_site.url}/hang took more than 0.2 s."


@in_loop
async def test_a_search_shows_titles_addresses_and_excerpts(tmp_path: Path) -> None:
    engine = Engine([{"title": "Nile\n", "href": "http://x.example/", "body": "a river\x1b " * 99}])
    async with calls_of(WebSource(engine), use_in(tmp_path)) as tools:
        answer = await tools.call("search", query="nile")
    title, address, excerpt = answer.split("\n")
    assert (title, address) == ("1. Nile", "http://x.example/")
    assert excerpt.startswith("a river a river")
    assert len(excerpt) == 500
    assert engine.queries == [("nile", 8)]


@pytest.mark.parametrize(
    ("results", "says"),
    [
        (RuntimeError("no\nnetwork"), "The search failed: no network"),
        ([{"title": "x"}], "The search failed: "),
        (TimeoutError(), "The search failed: TimeoutError"),
    ],
)
@in_loop
async def test_a_search_that_fails_says_why(tmp_path: Path, results: object, says: str) -> None:
    async with calls_of(WebSource(Engine(results)), use_in(tmp_path)) as tools:
        assert (await tools.failure("search", query="nile")).startswith(says)


@in_loop
async def test_a_search_without_results_says_so(tmp_path: Path) -> None:
    async with calls_of(WebSource(Engine([])), use_in(tmp_path)) as tools:
        assert await tools.call("search", query="nile") == "Nothing was found for 'nile'."


@in_loop
async def test_a_search_that_hangs_is_given_up(tmp_path: Path) -> None:
    ended = threading.Event()

    class Hanging:
        def text(self, query: str, max_results: int | None = None) -> list[dict[str, str]]:
            ended.wait()
            return []

    async with calls_of(WebSource(Hanging(), patience_s=0.2), use_in(tmp_path)) as tools:
        answer = await tools.failure("search", query="nile")
        ended.set()
        await asyncio.sleep(0)
    assert answer == "The search took more than 0.2 s."


@pytest.mark.parametrize("package", ["markdownify", "ddgs.ddgs"])
def test_missing_packages_are_named_with_their_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    for name in ("pydantic_ai.common_tools.web_fetch", "pydantic_ai.common_tools.duckduckgo"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.delattr(
            importlib.import_module("pydantic_ai.common_tools"), name.rpartition(".")[2], False
        )
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, "duckduckgo_search", None)
    with pytest.raises(ToolsetError, match=r"packages that aren't installed") as raised:
        WebSource().toolset(use_in(tmp_path))
    assert raised.value.fix == "Type: pip install 'prefect-swarm[web]'"
    assert web.WebSource().about


@in_loop
async def test_a_page_is_an_input_that_is_named_by_host_and_path(public_site: Site) -> None:
    inputs = await read_pages([f"{public_site.url}/page", f"{public_site.url}/page#again"])
    assert [*inputs] == ["127.0.0.1/page", "127.0.0.1/page (2)"]
    assert inputs["127.0.0.1/page"].endswith("It is **6650** km long.")
    assert inputs["127.0.0.1/page"].startswith("Nile")


@in_loop
async def test_a_file_of_the_web_is_what_such_a_file_is(public_site: Site) -> None:
    paths = ("/report", "/shot", "/data.json", "/files/book.xlsx")
    inputs = await read_pages([public_site.url + path for path in paths])
    assert "The third quarter" in inputs["127.0.0.1/report"]
    assert picture_of(inputs["127.0.0.1/shot"]) is not None
    assert json.loads(inputs["127.0.0.1/data.json"]) == [{"a": 1}]
    assert inputs["127.0.0.1/files/book.xlsx/One.csv"] == "x\n"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/gone", "404"),
        ("/empty", "has no text"),
        ("/huge", "exceed"),
        ("/book", "is a binary file"),
        ("/go?to=http://192.168.1.1/", "is blocked"),
    ],
)
@in_loop
async def test_a_page_that_is_no_input_says_why(public_site: Site, path: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        await read_pages([public_site.url + path])
    assert words in str(caught.value)
    assert caught.value.fix


@in_loop
@pytest.mark.attack("web")
async def test_no_input_comes_from_a_private_network(site: Site) -> None:
    with pytest.raises(InputError, match="is blocked"):
        await read_pages([f"{site.url}/page"])
    assert site.asked == []


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a/b", "example.com", "https://", ""])
@in_loop
async def test_what_is_no_web_address_is_no_page(url: str) -> None:
    with pytest.raises(InputError, match="is not the address of a page"):
        await read_pages([url])
