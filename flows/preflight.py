"""Checks before a run starts: models, toolsets, gates and room on the disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import UUID

from prefect.settings import get_current_settings

from ..data_folder import own_data_folder
from ..errors import GateError, InputError, SwarmError, ToolsetError
from ..files import require_room
from ..gates import Gate, find_gate, gate_name, is_required
from ..models.limited_model import open_limiters, providers_of
from ..models.names import model_names, refuse_secrets
from ..models.resolve import check_served, price_of, profile_of, resolve_model
from ..plan.compile import CompiledPlan, CompiledStep
from ..plan.task_ir import TaskIR, TierName, asks_agents, is_orchestrated
from ..settings import home, home_variable
from ..store.protocol import RunStore
from ..store.runs import store_address
from ..toolsets.catalogue import (
    Catalogue,
    ToolsetSource,
    ToolsetUse,
    acting_names,
    listed_tools,
    registered_toolsets,
)
from ..toolsets.documents import DocumentsSource
from ..toolsets.mcp.owner import owned
from ..toolsets.mcp.toolset import McpSource, servers_named
from ..toolsets.python import PythonSource
from ..toolsets.web import WebSource
from ..toolsets.workspace import WorkspaceSource
from .bounds import Models
from .control import caller
from .options import SwarmOptions
from .prefect_io.child_run import find_deployments

__all__ = [
    "LEAST_BYTES",
    "LISTING_S",
    "catalogue_of_options",
    "check_gates",
    "check_models",
    "check_pools",
    "check_storage",
    "check_toolsets",
    "most_at_once",
    "toolsets_of_run",
]

_logger = logging.getLogger("prefect_swarm.runs")


async def check_gates(plan: CompiledPlan) -> None:
    """Ask every gate that a step has to pass whether it can run here.

    Raises:
        GateError: One can't; says which steps ask for it, and what to install.
    """
    steps: dict[str, list[str]] = {}
    for step in plan.steps:
        # What is done on a work pool is checked there.
        for gate in () if step.pool else filter(is_required, step.gates):
            steps.setdefault(gate_name(gate), []).append(step.id)
    for name, ids in steps.items():
        # A tool that is asked for its version, or the sandbox that is tried, takes a moment.
        if (problem := await asyncio.to_thread(_problem, find_gate(name))) is not None:
            users = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
            raise GateError(
                f"The gate {name} of {users} can't run here: {problem.problem}",
                f"{problem.fix.rstrip('.')}. Or disable it: see --gates.".removeprefix(". "),
            )


async def check_pools(plan: CompiledPlan, run: RunStore, options: SwarmOptions) -> dict[str, UUID]:
    """Return which deployment does parts of a plan, by the names of the work pools.

    What an earlier process has had done on a pool is not looked at again.

    Raises:
        InputError: A pool isn't there, is paused or has no deployment that can do it, or a model's
            name has a password: flow runs show their options.
        ServerError: The server can't be asked.
    """
    pools: dict[str, str] = {}
    for step in plan.steps:
        if step.pool:
            state = await asyncio.to_thread(run.step, step.id)
            if state is None or state.status != "succeeded":
                pools.setdefault(step.pool, step.id)
    if not pools:
        return {}
    options.refuse_secrets()
    return await find_deployments(pools)


def _problem(gate: Gate) -> SwarmError | None:
    try:
        gate.version()
    except SwarmError as error:
        return error
    except Exception as error:  # noqa: BLE001 - another package's gate may raise anything
        return GateError(f"{type(error).__name__}: {error}.")
    return None


async def check_models(options: SwarmOptions, plan: TaskIR | None) -> Models:
    """Find out whether each tier's model is available and is served, and what is known of it.

    Args:
        options: Which models the tiers have.
        plan: The user's plan; None where the orchestrator writes one.

    Raises:
        InputError: A name is wrong, or a bound on money can't be held.
        ModelError: A model is not available, or its provider refuses.
    """
    tiers: list[TierName] = ["worker", "coder", "architect"] if asks_agents(plan) else []
    if is_orchestrated(plan):
        tiers.append("orchestrator")
    named = {options.model_of(tier): tier for tier in reversed(tiers)}
    for name in _of_steps(options, plan):
        named.setdefault(name, "worker")
    models = {name: await resolve_model(name, tier) for name, tier in named.items()}
    prices = {name: price for name, model in models.items() if (price := price_of(model))}
    if options.max_usd is not None:
        _require_prices([name for name in models if name not in prices])
    # A request for a plan finds out as well, and costs nothing more.
    plans = options.model_of("orchestrator") if plan is None else None
    await asyncio.gather(
        *(check_served(model, probe=name != plans) for name, model in models.items())
    )
    for model in models.values():
        open_limiters(model, most_at_once(options))
    asked = frozenset[str]().union(*map(providers_of, models.values()))
    for provider in options.provider_limits.keys() - asked:
        known = ", ".join(sorted(asked)) or "none"
        _logger.warning(
            "No model of the run asks %s, which provider_limits names; they ask: %s",
            provider,
            known,
        )
    profiles = {name: profile_of(model) for name, model in models.items()}
    return Models(profiles, prices)


def most_at_once(options: SwarmOptions) -> int:
    """Return the most parallel attempts that the user asks for; 1 by default."""
    asked = [options.max_concurrency, *(tier.concurrency for tier in options.tiers.values())]
    return max(filter(None, asked), default=1)


def _of_steps(options: SwarmOptions, plan: TaskIR | None) -> Sequence[str]:
    """Return the models that a plan's steps name.

    Raises:
        InputError: One takes a key from an environment variable: which keys leave the machine is
            the user's to say, not a plan's.
    """
    # What is done on a work pool is checked there.
    steps = [step for step in (plan.steps if plan else ()) if not step.pool]
    named = [(step.id, step.model) for step in steps if step.model]
    for step, model in named:
        try:
            refuse_secrets(model)
        except InputError as error:
            raise InputError(f"Step {step}: {error.problem}", error.fix) from None
        if any("@" in name and "#" in name for name in model_names(model)):
            raise InputError(
                f"The model {model!r} of step {step} names an environment variable with a key.",
                "Leave # and the name out: --key-env goes to the servers that the options name. "
                "Or name a block.",
            )
    return [options.named(model) for _, model in named]


def _require_prices(unknown: Sequence[str]) -> None:
    if unknown:
        raise InputError(
            f"max_usd can't be enforced: no price is known for {', '.join(map(repr, unknown))}.",
            "Bound the run with max_tokens instead, or name a model with a known price.",
        )


LEAST_BYTES = 16 << 20
"""Free bytes that a run is not started without: more than most runs leave."""


def check_storage() -> None:
    """Make sure that there is room for runs and for Prefect's results.

    Raises:
        InputError: The data folder is another user's.
        StorageError: A folder can't be written, or its disk is full.
    """
    own_data_folder(home())
    for folder, variable in _folders():
        require_room(folder, LEAST_BYTES, variable)


def _folders() -> list[tuple[Path, str]]:
    """Return the folders, and what names others in their places."""
    settings = get_current_settings()
    own = [] if store_address() else [(home() / "runs", home_variable())]
    results, path = settings.results, settings.results.local_storage_path
    if results.default_storage_block is not None:
        return own
    is_prefects = settings.home in path.parents
    return [*own, (path, "PREFECT_HOME" if is_prefects else "PREFECT_LOCAL_STORAGE_PATH")]


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
        *caller().toolsets.values(),
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
async def toolsets_of_run(options: SwarmOptions) -> AsyncGenerator[Catalogue]:
    """Yield the toolsets of a run, and keep their servers in between.

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
        yield catalogue


async def check_toolsets(
    plan: CompiledPlan, catalogue: Catalogue, run: RunStore
) -> dict[str, tuple[str, ...]]:
    """Ask each toolset that a step works with which tools it has; return those that act.

    Raises:
        ToolsetError: One is not available, or says nothing in time; says which steps it is for.
    """
    steps: dict[str, list[str]] = {}
    for step_id, step in _with_inner(plan.steps):
        undone_by = (step.undo.toolset,) if step.undo else ()
        for name in dict.fromkeys((*step.tools, *undone_by)):
            steps.setdefault(name, []).append(step_id)
    acting: dict[str, tuple[str, ...]] = {}
    for name, ids in steps.items():
        try:
            use = ToolsetUse(run, "", "preflight")
            tools = await listed_tools(catalogue.source(name), use, LISTING_S)
        except ToolsetError as error:
            users = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
            raise ToolsetError(f"The tools of {users}: {error.problem}", error.fix) from error
        acting[name] = acting_names(tools)
    return acting


def _with_inner(
    steps: Iterable[CompiledStep], within: str = ""
) -> Iterator[tuple[str, CompiledStep]]:
    """Yield steps and those inside them, with the ids that they have in the run.

    Those inside a step that is done on a work pool are left out: they are checked there.
    """
    for step in steps:
        yield f"{within}{step.id}", step
        if not step.pool:
            yield from _with_inner(step.plan, f"{within}{step.id}.")


def _built_in(options: SwarmOptions) -> Iterator[ToolsetSource]:
    """Those that come with the package; documents only where folders are named."""
    seconds = options.tool_limits.seconds
    if options.documents:
        documents = DocumentsSource(options.documents, options.embedder)
        documents.check()
        yield documents
    if options.workspace is not None:
        yield WorkspaceSource(seconds)
    yield PythonSource.within(seconds)
    yield WebSource(patience_s=min(_WEB_S, seconds * 0.8))


def _offered(
    options: SwarmOptions, names: frozenset[str], titles: Mapping[str, str]
) -> frozenset[str]:
    if options.toolsets is None:
        # A planner that is to be shown nothing isn't shown configured toolsets, either.
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
