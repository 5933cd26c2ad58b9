"""Checks of gates, their sandbox and MCP servers by `doctor`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ...errors import InputError, SandboxError, SwarmError, ToolsetError
from ...flows.options import SwarmOptions
from ...host.network import CA_FIX, certificate_problem
from ...text import one_line, plural, visible
from .check import Check

if TYPE_CHECKING:
    from ...toolsets.mcp.configuration import McpEndpoint

__all__ = ["check_gates", "check_mcp", "check_sandbox"]


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
    from ...toolsets.mcp.oauth_login import log_in

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
