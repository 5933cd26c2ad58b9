"""The toolsets of a run: found before anything starts, and open as long as it runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from ...errors import InputError, ToolsetError
from ...runs import RunFolder
from ...toolsets.catalogue import Catalogue, open_catalogue
from ...toolsets.documents.source import DocumentsSource
from ...toolsets.given import given_toolsets
from ...toolsets.listing import listed_tools
from ...toolsets.mcp.owners import owned
from ...toolsets.mcp.reading import servers_named
from ...toolsets.mcp.source import McpSource
from ...toolsets.registered import registered_toolsets
from ...toolsets.sandboxed.source import PythonSource
from ...toolsets.source import ToolsetSource, ToolsetUse
from ...toolsets.web.source import WebSource
from ..compile import CompiledPlan
from ..options import SwarmOptions

__all__ = ["LISTING_S", "catalogue_of_options", "check_toolsets", "toolsets_of_run"]

LISTING_S = 60.0
"""Seconds that a toolset may take to say which tools it has, its server's start included."""

_WEB_S = 40.0
_UNLESS_NAMED = frozenset({"web"})
"""What planners are offered only where the user names it: it leaves the machine."""


async def catalogue_of_options(options: SwarmOptions) -> Catalogue:
    """Return the toolsets that a run has.

    Those given in Python come first, then those of MCP servers, of other packages, and what is
    built in; of two with a name the first counts.

    Raises:
        InputError: An MCP configuration, another package's toolset or a name is wrong.
    """
    servers = [McpSource(each, options.tool_limits) for each in await servers_named(options.mcp)]
    sources = [
        *given_toolsets().values(),
        *servers,
        *registered_toolsets().values(),
        *_built_in(options),
    ]
    names = frozenset(source.name for source in sources)
    titles = {each.endpoint.title: each.name for each in servers if each.endpoint.title}
    return Catalogue.of(
        sources,
        options.tool_limits,
        held_back=names - _offered(options, names, titles),
        asks="tools" in options.approve,
        secrets=frozenset(value for server in servers for value in server.endpoint.secrets),
        titles={title: name for title, name in titles.items() if title not in names},
    )


@asynccontextmanager
async def toolsets_of_run(flow_run_id: str, options: SwarmOptions) -> AsyncGenerator[Catalogue]:
    """Let the task runs of a flow run find its toolsets, and keep their servers in between.

    A server starts when it is first asked something, and ends with the last run that has it.

    Raises:
        InputError: As `catalogue_of_options` has it.
    """
    catalogue = await catalogue_of_options(options)
    async with AsyncExitStack() as servers:
        for source in catalogue.sources.values():
            if isinstance(source, McpSource):
                at_once = source.limits.at_once
                await servers.enter_async_context(owned(source.endpoint, at_once))
        with open_catalogue(flow_run_id, catalogue):
            yield catalogue


async def check_toolsets(plan: CompiledPlan, catalogue: Catalogue, run: RunFolder) -> None:
    """Ask each toolset that a step works with which tools it has.

    Raises:
        ToolsetError: One can't be had, or says nothing in time; says which steps it is for.
    """
    steps: dict[str, list[str]] = {}
    for step in plan.steps:
        for name in step.tools:
            steps.setdefault(name, []).append(step.id)
    for name, ids in steps.items():
        try:
            await listed_tools(catalogue.source(name), ToolsetUse(run, "", "preflight"), LISTING_S)
        except ToolsetError as error:
            users = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
            raise ToolsetError(f"The tools of {users}: {error.problem}", error.fix) from error


def _built_in(options: SwarmOptions) -> Iterator[ToolsetSource]:
    """Those that come with the package; documents only where folders are named."""
    seconds = options.tool_limits.seconds
    if options.documents:
        documents = DocumentsSource(options.documents, options.embedder)
        documents.check()
        yield documents
    yield PythonSource.within(seconds)
    yield WebSource(patience_s=min(_WEB_S, seconds * 0.8))


def _offered(
    options: SwarmOptions, names: frozenset[str], titles: Mapping[str, str]
) -> frozenset[str]:
    if options.toolsets is None:
        # Whoever wants a planner to be shown nothing means what nobody configured, too.
        held_back = _UNLESS_NAMED if options.plan_context else {*_UNLESS_NAMED, "python"}
        return names - held_back
    wanted = {titles.get(name, name) for name in options.toolsets}
    if unknown := sorted(wanted - names):
        has = f"There are {', '.join(sorted(names))}." if names else "There are none."
        raise InputError(
            f"The run has no toolset {unknown[0]!r}. {has}",
            "Correct its name, or configure it: --mcp FILE, --documents FOLDER.",
        )
    return frozenset(wanted)
