"""Findings of `doctor`, and its checks of local models, gates, the sandbox and MCP servers."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ...errors import InputError, ModelError, SandboxError, SwarmError, ToolsetError
from ...flows.options import SwarmOptions
from ...host.network import CA_FIX, certificate_problem
from ...plan.task_ir import TIERS
from ...text import one_line, plural, visible

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from ...models.llama.residency import Resident
    from ...models.llama.slot_speeds import SlotTable
    from ...toolsets.mcp.configuration import McpEndpoint

__all__ = [
    "Check",
    "check_gates",
    "check_mcp",
    "check_model_memory",
    "check_sandbox",
    "check_slots",
    "findings",
    "measure_again",
]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding; `fix` says what to do where it is not `ok`."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""


_TITLE = "model memory"


def check_model_memory(options: SwarmOptions) -> Iterable[Check]:
    """Say what local models may take, what each of the tiers' files will, and what is loaded."""
    from ...models.llama.residency import model_memory
    from ...models.llama.sizing import memory_budget

    if planned := asyncio.run(_planned(options)):
        yield from findings(memory_budget(), planned, model_memory().residents())


def findings(budget: int, planned: dict[str, Resident], loaded: list[Resident]) -> Iterable[Check]:
    """Compare what the tiers' files will take with the budget.

    Args:
        budget: Bytes for all of them together.
        planned: The engine of each file that a tier names, by the tiers' names.
        loaded: The engines that are loaded now.
    """
    from ...models.llama.residency import bytes_of, fits_alone, gigabytes
    from ...models.llama.sizing import BUDGET_VARIABLE

    for tiers, resident in planned.items():
        weights, own = map(gigabytes, resident.use)
        detail = f"{tiers}: {resident.name} takes {weights} of weights and {own} of context"
        if fits_alone(resident, budget):
            yield Check(_TITLE, "ok", detail)
        else:
            more = f"Set {BUDGET_VARIABLE}, or take a smaller file, n_ctx or n_slots."
            yield Check(_TITLE, "fail", f"{detail}; more than {gigabytes(budget)}", more)
    together = f"{gigabytes(bytes_of(planned.values()))} of {gigabytes(budget)} for all models"
    if bytes_of(planned.values()) > budget:
        together += "; they take turns, and load again each time"
    names = ", ".join(dict.fromkeys(resident.name for resident in loaded)) or "none"
    yield Check(_TITLE, "ok", f"{together}; loaded: {names} ({gigabytes(bytes_of(loaded))})")


async def _planned(options: SwarmOptions) -> dict[str, Resident]:
    """Find the engines that the tiers' models will need; what is wrong with one is said elsewhere.

    Planning with an adapter needs a context of its own, which is not counted.
    """
    from ...models.resolve import resolve_model

    found: dict[str, list[str]] = {}
    engines: dict[str, Resident] = {}
    for tier in (*TIERS, "orchestrator"):
        name = options.model_of(tier)
        if name.startswith("block:"):
            continue  # It is kept on the Prefect server.
        try:
            model = await resolve_model(name, tier)
        except (InputError, ModelError):
            continue
        if (resident := _resident(model)) is not None:
            found.setdefault(name, []).append(tier)
            engines[name] = resident
    return {", ".join(tiers): engines[name] for name, tiers in found.items()}


def _resident(model: Model) -> Resident | None:
    from ...models.llama.limits import estimate
    from ...models.llama.residency import Resident
    from ...models.resolve import local_model

    if (local := local_model(model)) is None:
        return None
    path, config = local.path, local.config
    return Resident(local.model_name, (path, config.n_gpu_layers), estimate(path, config))


_DAY_S = 24 * 3600.0


def measure_again(model: Any) -> bool:
    """Measure a model file of this machine; return whether that may have changed its slots.

    Raises:
        ModelError: The file can't be loaded, or memory is short.
    """
    from ...models.resolve import local_model

    if (local := local_model(model)) is None:
        return False
    from ...models.llama.slot_speeds import measure

    return measure(local.path, local.config) is not None


def check_slots(title: str, model: Any) -> Iterable[Check]:
    """Say how many requests are computed in parallel, and where the number comes from.

    Nothing is said of a model of a provider.
    """
    from ...models.resolve import local_model

    if (local := local_model(model)) is None:
        return
    from ...models.llama.slot_speeds import read_table, table_path

    name = title.replace("model", "slots", 1)
    slots = local.config.n_slots
    if table := read_table(table_path(local.path, local.config)):
        yield Check(name, "ok", _measured(slots, table, time.time()))
    else:
        fix = "To measure while nothing else computes: prefect-swarm doctor --deep"
        yield Check(name, "ok", f"{slots}, by memory; not measured", fix)


def _measured(slots: int, table: SlotTable, now: float) -> str:
    from ...models.llama.sizing import MOST_SLOTS, best_slots

    figures = ", ".join(f"{speed:.0f} at {count}" for count, speed in table.speeds.items())
    best = best_slots(table.speeds, MOST_SLOTS)
    why = "" if slots == best else f"; more than {slots} are not set, or memory is short for them"
    if slots > best:
        why = "; more are set"
    days = max(0, int((now - table.measured_at) // _DAY_S))
    when = "today" if days == 0 else "1 day ago" if days == 1 else f"{days} days ago"
    return f"{slots}; measured here {when}, tokens a second: {figures}, so {best}{why}"


_SETTING = "PREFECT_INTEGRATIONS_SWARM_SANDBOX"
_WITHOUT = "Without it, do without the gates that run code: --gates python=-unit,-integration"
_LOOSE = (
    "limits-only: what a model wrote runs with limits alone; it sees your files and the network"
)


def check_sandbox() -> Iterable[Check]:
    """Say which sandbox isolates code that a model wrote, and what to do where none can."""
    from ...gates.sandbox import backend_kind, remarks
    from ...settings import SwarmSettings

    loose = SwarmSettings().sandbox == "limits-only"
    try:
        backend, known = backend_kind(), " ".join(remarks())
    except SandboxError as error:
        if loose:
            yield Check("sandbox", "warn", f"{_LOOSE}. {error.problem}", error.fix)
        else:
            yield Check("sandbox", "warn", error.problem, f"{error.fix} {_WITHOUT}.".strip())
        return
    if loose:
        fix = f"This machine can hold it strictly, by {backend}: unset {_SETTING}."
        yield Check("sandbox", "warn", _LOOSE, fix)
    else:
        yield Check("sandbox", "ok", f"strict, by {backend}. {known}")


def check_gates() -> Iterable[Check]:
    """Say which gates that steps get unasked lack their tool."""
    from ...gates import DEFAULT_GATES, gate_name, gates

    known = gates()
    yield Check("gates", "ok", ", ".join(known))
    unasked = dict.fromkeys(gate_name(name) for names in DEFAULT_GATES.values() for name in names)
    for name in unasked:
        try:
            known[name].version()
        except SandboxError:
            continue  # It has a line of its own.
        except SwarmError as error:
            yield Check(f"gate {name}", "warn", error.problem, error.fix)


_SECONDS = 60.0


def check_mcp(options: SwarmOptions, *, login: bool = False) -> Iterable[Check]:
    """Start or reach each server that the options name, and count its tools.

    Args:
        options: What `--mcp` names.
        login: Have a person log in first at each server that asks for that.

    Raises:
        InputError: A configuration can't be read, or is wrong; or nobody is there to log in.
    """
    if login and not options.mcp:
        raise InputError("--login has no server to log in at.", "Name a configuration: --mcp FILE.")
    if login and not sys.stdin.isatty():
        raise InputError(
            "--login needs a terminal: a person has to log in.",
            "Run it at one; what it keeps is used by all processes that have the same data folder.",
        )
    return asyncio.run(_checked(options.mcp, login=login)) if options.mcp else ()


async def _checked(named: str, *, login: bool) -> list[Check]:
    from ...toolsets.mcp.toolset import servers_named

    servers = await servers_named(named)
    refused: dict[str, Check] = {}
    if login:
        # One after another: a person has one browser.
        for server in servers:
            if (problem := await _login(server)) is not None:
                refused[server.name] = problem
    # In parallel: each may take a server's whole time-out.
    checks = await asyncio.gather(*(_check(each) for each in servers if each.name not in refused))
    return [*refused.values(), *checks]


async def _login(server: McpEndpoint) -> Check | None:
    """Log in at a server if it asks for that, and return what is wrong."""
    from ...toolsets.mcp.oauth import log_in

    async def show(address: str) -> None:
        import webbrowser

        print(f"Log in at {server.shown}: {visible(address)}", file=sys.stderr, flush=True)  # noqa: T201 - before any check
        await asyncio.to_thread(webbrowser.open, address)

    try:
        await log_in(server, show)
    except ToolsetError as error:
        return Check(f"mcp {server.shown}", "fail", error.problem, error.fix)
    return None


async def _check(server: McpEndpoint) -> Check:
    from ...toolsets.mcp.owner import owned

    title = f"mcp {server.shown}"
    try:
        async with owned(server, 1) as owner:
            tools = await owner.tools(_SECONDS)
    except ToolsetError as error:
        fix = CA_FIX if certificate_problem(error) else "Look at its configuration."
        return Check(title, "fail", error.problem, fix)
    names = one_line(", ".join(tools.definitions), 200)
    what = f"{plural(len(tools.definitions), 'tool')}: {names}" if names else "no tools"
    called = f"; plans call it {server.name}" if server.title else ""
    detail = f"over {server.transport}, {what}{called}{_left_out(tools.left_out)}"
    is_well = bool(names) and not tools.left_out
    fix = "Tell the server's makers." if tools.left_out else ""
    return Check(title, "ok" if is_well else "warn", detail, fix)


def _left_out(problems: Mapping[str, str]) -> str:
    if not problems:
        return ""
    words = "; ".join(f"{one_line(name, 64)} ({why})" for name, why in problems.items())
    return f"; left out: {one_line(words, 600)}"
