"""The toolset `web`: search the web, and read pages; nothing of a private network."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, TypeVar, cast
from urllib.parse import unquote, urlsplit

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import BinaryContent
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from ..errors import InputError, ToolsetError
from ..inputs.contents import plain_name, text_of, texts_of
from ..inputs.reading import named_texts
from ..quoting import PromptPart, Quote, with_quotes
from ..text import clean, one_line
from .catalogue import Toolset, ToolsetUse, marked

__all__ = ["WebSource", "failure_text", "page_text", "read_pages", "results_text"]


_PAGE = 12_000
_EXCERPT = 500
_TITLE = 200
_MESSAGE = 400
# What pydantic-ai adds for programmers.
_FOR_PROGRAMS = re.compile(
    r"(?:(?<!\s)\s++)?Use force_download=\S++ to allow local network access\.?"
)


def results_text(results: Sequence[Mapping[str, str]], query: str) -> str:
    """Write the results of a search, each with its title, address and excerpt."""
    parts = [
        f"{number}. {_line(result['title'], _TITLE)}\n{_line(result['href'], 2000)}\n"
        f"{_line(result['body'], _EXCERPT)}"
        for number, result in enumerate(results, 1)
    ]
    return "\n\n".join(parts) or f"Nothing was found for {one_line(query)!r}."


def _line(text: str, limit: int) -> str:
    """Write what a site says in a line; control characters say a model nothing."""
    return one_line(clean(text), limit)


def page_text(url: str, title: str, text: str, start: int) -> str:
    """Write a page from a character on, at most as much as an answer has room for."""
    whole = clean(text).strip()
    shown = whole[start : start + _PAGE]
    end = start + len(shown)
    named = f": {_line(title, _TITLE)}" if title.strip() else ""
    head = f"[{one_line(url, 500)}{named}, characters {start:,} to {end:,} of {len(whole):,}]"
    page: list[PromptPart] = [Quote(text=shown, label=head)]
    if end < len(whole):
        page.append(f"[It goes on: start={end}.]")
    return "\n".join(with_quotes(page, explained=False))


def failure_text(message: str) -> str:
    """Return the reason why something is not available, in a line."""
    return one_line(_FOR_PROGRAMS.sub("", message), _MESSAGE)


_MOST_RESULTS = 8
_QUERY = 500
_URL = 4000
_PATIENCE_S = 40.0
_CONNECTION_S = 15
_PAGE_BYTES = 8 << 20

T = TypeVar("T")
Found = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class WebSource:
    """The web, by pydantic-ai's tools: DuckDuckGo's search, and pages as Markdown.

    Addresses that aren't public are refused, whatever name or redirect leads to them.

    Attributes:
        search_client: What searches in DuckDuckGo's place: has `text(query, max_results=…)`, as the
            package ddgs has it.
        patience_s: Seconds that a call may take.
    """

    search_client: Any = None
    patience_s: float = _PATIENCE_S
    name: str = "web"

    @property
    def about(self) -> str:
        """What plans are shown of it."""
        return "Searches the web, and reads its pages."

    @property
    def server(self) -> str:
        """Its own name."""
        return self.name

    def toolset(self, use: ToolsetUse) -> Toolset:  # noqa: ARG002 - all attempts see the same
        """Return the tools.

        Raises:
            ToolsetError: The packages of the extra `web` aren't installed.
        """
        find, get = _tools(self.search_client)

        async def search(query: str) -> str:
            """Search the web; returns titles, addresses and excerpts of pages.

            Args:
                query: What is looked for.
            """
            found = await _within(find(query[:_QUERY]), self.patience_s, "The search")
            return results_text(cast("list[Mapping[str, str]]", found), query)

        async def fetch(url: str, start: int = 0) -> str:
            """Read a page of the web as Markdown; of a PDF, its text.

            Args:
                url: Its address, with http:// or https://.
                start: How many characters of it to pass over, to go on with a long page.
            """
            found = await _within(get(url[:_URL]), self.patience_s, f"Fetching {url[:200]}")
            title, text = await asyncio.to_thread(_contents, url, found)
            return page_text(url, title, text, max(0, start))

        read = marked(idempotent=True)
        return FunctionToolset([Tool(search, metadata=read), Tool(fetch, metadata=read)])


async def read_pages(urls: Sequence[str], patience_s: float = _PATIENCE_S) -> dict[str, str]:
    """Return pages as inputs of a run, named by their hosts and paths.

    A page is Markdown, a PDF, a picture and what an office program wrote as such a file is.
    Addresses that aren't public are refused, as for the toolset.

    Args:
        urls: Their addresses, with http:// or https://.
        patience_s: Seconds that each may take.

    Raises:
        InputError: One can't be had, or is nothing that a model can be given.
        ToolsetError: The packages of the extra `web` aren't installed.
    """
    get = _fetching()
    inputs: dict[str, str] = {}
    for url in dict.fromkeys(urls):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(
                f"{one_line(url, 200)!r} is not the address of a page.",
                "Write it with https://, or give a file by --file.",
            )
        try:
            found = await _within(get(url), patience_s, f"Fetching {one_line(url, 200)}")
        except ToolFailed as error:
            raise InputError(
                f"{error.message}", "Check the address, or save the page and give the file."
            ) from None
        name = plain_name(f"{parts.hostname}{unquote(parts.path).rstrip('/')}", inputs)
        inputs |= named_texts(name, await asyncio.to_thread(_input_of, url, parts.path, found))
    return inputs


def _input_of(url: str, path: str, found: object) -> dict[str, str]:
    called = f"page {one_line(url, 200)}"
    if isinstance(found, BinaryContent):
        # By the end of its name a server may say what a file is, where its type says nothing.
        suffix = _SUFFIXES.get(found.media_type, PurePosixPath(path).suffix)
        return texts_of(found.data, f"{one_line(url, 200)}{suffix}", "page")
    page = cast("Mapping[str, str]", found)
    text = clean(page["content"]).strip()
    if text.startswith(_JSON_BLOCK) and text.endswith("\n```"):
        text = text.removeprefix(_JSON_BLOCK).removesuffix("\n```")
    if not text:
        raise InputError(f"The {called} has no text.", "Save it in a browser, and give the file.")
    title = _line(page["title"], _TITLE)
    return {"": text if not title or title in text[:_TITLE_WITHIN] else f"# {title}\n\n{text}"}


_JSON_BLOCK = "```json\n"
_TITLE_WITHIN = 400
_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_SUFFIXES = {
    f"{_OPEN_XML}wordprocessingml.document": ".docx",
    f"{_OPEN_XML}presentationml.presentation": ".pptx",
    f"{_OPEN_XML}spreadsheetml.sheet": ".xlsx",
    "application/epub+zip": ".epub",
}


def _tools(search_client: Any) -> tuple[Found, Found]:
    get = _fetching()
    with _of_extra():
        from pydantic_ai.common_tools import duckduckgo
    client = search_client or _default_client()
    search_tool: Any = cast("Any", duckduckgo).duckduckgo_search_tool
    searching: Any = search_tool(client, _MOST_RESULTS)
    return searching.function, get


def _fetching() -> Found:
    with _of_extra():
        from pydantic_ai.common_tools import web_fetch
    # Pages are cut here, where it can be said how to go on.
    fetching: Any = web_fetch.web_fetch_tool(
        max_content_length=None, timeout=_CONNECTION_S, max_download_bytes=_PAGE_BYTES
    )
    return fetching.function


@contextmanager
def _of_extra() -> Generator[None]:
    try:
        yield
    except ImportError as error:
        raise ToolsetError(
            f"The toolset web needs packages that aren't installed: {error.name or error}.",
            "Type: pip install 'prefect-swarm[web]'",
        ) from error


def _default_client() -> Any:
    from ddgs.ddgs import DDGS

    return DDGS(timeout=_CONNECTION_S)


async def _within(call: Awaitable[T], patience_s: float, what: str) -> T:
    """Wait for a call, as long as there is patience; what it leaves running ends by itself.

    Raises:
        ToolFailed: It failed, or took too long; the model may learn from why.
    """
    task = asyncio.ensure_future(call)
    task.add_done_callback(_read)
    try:
        # Not asyncio.timeout: a search waits for a thread, and can't be cancelled.
        done, _ = await asyncio.wait({task}, timeout=patience_s)
        if not done:
            raise ToolFailed(f"{what} took more than {patience_s:g} s.")
        return task.result()
    except ModelRetry as error:
        raise ToolFailed(failure_text(error.message)) from error
    except ToolFailed:
        raise
    except Exception as error:
        raise ToolFailed(
            f"{what} failed: {failure_text(str(error)) or type(error).__name__}"
        ) from error
    finally:
        if not task.done():
            task.cancel()


def _read(task: asyncio.Future[Any]) -> None:
    """Have an error count as seen: that of a call that ends too late concerns nothing any more."""
    if not task.cancelled():
        task.exception()


def _contents(url: str, found: object) -> tuple[str, str]:
    """Return a page's title and text.

    Raises:
        ToolFailed: It has none.
    """
    if isinstance(found, BinaryContent):
        try:
            return "", text_of(found.data, url, f"page ({found.media_type})")
        except InputError as error:
            raise ToolFailed(error.problem) from error
    page = cast("Mapping[str, str]", found)
    return page["title"], page["content"]
