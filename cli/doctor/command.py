"""`prefect-swarm doctor`: what is there, what is wrong, and how to fix it."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

from ...data_folder import check_data_folder
from ...errors import ExitCode, InputError, SwarmError, UnavailableError
from ...files import HOME_VARIABLE
from ...flows.options import SwarmOptions
from ...flows.prefect_io.server_access import find_fault, find_opening, shown_address
from ...flows.prefect_io.temporary_server import configured_url
from ...host.network import check_ca_files, check_proxies
from ...host.system import require_llama_cpp
from ...plan.task_ir import TIERS, TierName
from ...store.runs import place_of_runs, store_address, stored_runs, try_store
from ...text import plural, visible
from ..command import AsJson
from ..terminal.printing import print_json, print_text
from .checks import (
    Check,
    check_gates,
    check_mcp,
    check_model_memory,
    check_sandbox,
    check_slots,
    measure_again,
)
from .prefect_checks import (
    Scheduled,
    check_access,
    check_server_version,
    check_versions,
    findings,
    read_scheduled,
)

__all__ = ["check_all", "doctor"]


_PACKAGES = ("prefect-swarm", "prefect", "pydantic-ai-slim")
_LLAMA_CPP = "llama-cpp-python"
_LEAST_FREE_GB = 1.0
_PROVIDER_S = 60.0


def check_all(options: SwarmOptions, *, deep: bool, login: bool = False) -> list[Check]:
    """Look at everything; a check that fails does not stop the others."""
    parts: list[tuple[str, Callable[[], Iterable[Check]]]] = [
        ("python", _python),
        ("packages", _packages),
        ("versions", check_versions),
        ("network", _network),
        ("model", lambda: _models(options, deep=deep)),
        ("model memory", lambda: check_model_memory(options)),
        ("planner", lambda: _planner(options)),
        ("gates", check_gates),
        ("sandbox", check_sandbox),
        ("data", _data),
        ("store", lambda: _store(deep=deep)),
        ("cluster", lambda: _cluster(options)),
        ("memory", _memory),
        ("prefect", _prefect),
        ("mcp", lambda: check_mcp(options, login=login)),
    ]
    return [check for name, part in parts for check in _guarded(name, part)]


def _guarded(name: str, part: Callable[[], Iterable[Check]]) -> list[Check]:
    try:
        return list(part())
    except SwarmError as error:
        return [Check(name, "fail", error.problem, error.fix)]
    except Exception as error:  # noqa: BLE001 - the doctor must not die of what it finds
        return [Check(name, "fail", f"{type(error).__name__}: {error}", "See `--debug`.")]


def _python() -> Iterable[Check]:
    where = f"{platform.python_version()} at {sys.executable}, {os.cpu_count()} cores"
    yield Check("python", "ok", where)


def _packages() -> Iterable[Check]:
    yield from map(_package, _PACKAGES)
    try:
        require_llama_cpp()
    except InputError as error:
        # Whether a model needs it, the model's own check says.
        yield Check(_LLAMA_CPP, "warn", f"not installed. {error.problem}", error.fix)
    else:
        yield _package(_LLAMA_CPP)


def _package(name: str) -> Check:
    try:
        return Check(name, "ok", version(name))
    except PackageNotFoundError:
        return Check(name, "fail", "not installed", f"Run: pip install {name}")


def _models(options: SwarmOptions, *, deep: bool) -> Iterable[Check]:
    names: dict[str, list[TierName]] = {}
    tiers: tuple[TierName, ...] = (*TIERS, "orchestrator")
    for tier in tiers:
        names.setdefault(options.model_of(tier), []).append(tier)
    for name, served in names.items():
        title = f"model {', '.join(served)}" if len(names) > 1 else "model"
        yield from _guarded(title, lambda n=name, s=served, t=title: _model(t, n, s, deep=deep))


def _model(title: str, name: str, tiers: list[TierName], *, deep: bool) -> Iterable[Check]:
    from ...models.resolve import resolve_model

    if name.startswith("block:") and configured_url() is None:
        yield Check(title, "warn", f"{name} is kept on a Prefect server", "Set PREFECT_API_URL.")
        return
    model = asyncio.run(resolve_model(name, tiers[0]))
    if deep and measure_again(model):
        model = asyncio.run(resolve_model(name, tiers[0]))
    path = getattr(model, "path", None)
    size = f", {path.stat().st_size / 1e6:.0f} MB at {path}" if isinstance(path, Path) else ""
    answer = f"; it says {asyncio.run(_try(model))!r}" if deep else ""
    yield Check(title, "ok", f"{name}: {model.model_name}{size}{answer}")
    yield from check_slots(title, model)


def _planner(options: SwarmOptions) -> Iterable[Check]:
    from ...models.resolve import planner_adapter_of

    name = options.model_of("orchestrator")
    if options.adapter and (adapter := planner_adapter_of(name)) is not None:
        yield Check("planner", "ok", f"plans with the adapter {adapter}")


async def _try(model: Any) -> str:
    from pydantic_ai.direct import model_request
    from pydantic_ai.exceptions import ModelAPIError
    from pydantic_ai.messages import ModelRequest

    from ...models.resolve import check_served, local_model, refusal

    await check_served(model, probe=True)
    # A run has more patience with a provider than who looks at a screen.
    seconds = _PROVIDER_S if local_model(model) is None else None
    try:
        async with asyncio.timeout(seconds):
            answer = await model_request(
                model,
                [ModelRequest.user_text_prompt("Say hello.")],
                model_settings={"max_tokens": 8},
            )
    except ModelAPIError as error:
        raise refusal(model, error) from None
    except TimeoutError:
        raise UnavailableError(
            f"{model.model_name} did not answer within {seconds:g} s.",
            "Try again later; a run waits up to ten minutes.",
        ) from None
    return answer.text or ""


def _data() -> Iterable[Check]:
    folder = check_data_folder("write")
    if store_address():
        yield Check("data", "ok", str(folder))
    else:
        runs = sum(run.has_started() for run in stored_runs())
        yield Check("data", "ok", f"{folder}, {runs} runs")
    free = shutil.disk_usage(folder).free / 1e9
    low = free < _LEAST_FREE_GB
    fix = f"Make room, or set {HOME_VARIABLE} to another disk." if low else ""
    yield Check("disk", "warn" if low else "ok", f"{free:.1f} GB free", fix)


def _store(*, deep: bool) -> Iterable[Check]:
    """Look at the database of the runs; deeply by a run of its own, which is removed again."""
    if not store_address():
        return
    runs = len(stored_runs())
    said = f"{place_of_runs()}, {runs} runs"
    if deep:
        took_s = try_store()
        said += f"; a write takes {took_s * 1000:.1f} ms"
    yield Check("store", "ok", said)


def _cluster(options: SwarmOptions) -> Iterable[Check]:
    """Look at the Dask cluster that works on attempts, if there is one."""
    if options.executor == "local":
        return
    from ...flows.cluster.connection import describe_cluster

    own, versions = asyncio.run(describe_cluster(options.executor))
    others = sorted(name for name, other in versions.items() if other != own)
    said = f"{options.executor}, {plural(len(versions), 'worker')}"
    if others:
        fix = f"Install prefect-swarm {own} on them."
        yield Check("cluster", "warn", f"{said}; of another version: {', '.join(others)}", fix)
    else:
        yield Check("cluster", "ok" if versions else "warn", said)


def _memory() -> Iterable[Check]:
    from ...memory.forgetting import find_unfinished
    from ...memory.store import configured_place, open_configured_store

    place = configured_place()
    if not place.dsn and not place.folder.exists():
        return  # Looking would make one.
    with open_configured_store() as store:
        if (unfinished := find_unfinished(store)) is not None:
            yield Check("memory", "warn", unfinished.problem, unfinished.advice)
        else:
            yield Check("memory", "ok", f"{store.log.count():,} episodes")


def _network() -> Iterable[Check]:
    check_proxies()
    check_ca_files(os.environ)
    return ()


def _prefect() -> Iterable[Check]:
    from prefect.settings import load_profiles

    name = os.environ.get("PREFECT_PROFILE") or load_profiles().active_name
    yield Check("prefect profile", "ok", str(name))
    url = configured_url()
    if url is None:
        # Nobody but the command that starts it has its login.
        detail = "none configured: each command starts a temporary one, in 5 to 10 s"
        yield Check("prefect server", "ok", detail)
    elif fault := find_fault(url):
        error = fault.error(url)
        yield Check("prefect server", "fail", error.problem, error.fix)
    else:
        yield Check("prefect server", "ok", f"{shown_address(url)} answers")
        yield from check_access(find_opening(url))
        yield from _guarded("schedules", _server)


def _server() -> Iterable[Check]:
    server, scheduled = asyncio.run(_read_server())
    yield from check_server_version(server)
    yield from findings(scheduled, datetime.now(UTC))


async def _read_server() -> tuple[str, list[Scheduled]]:
    from prefect.client.orchestration import get_client

    async with get_client() as client:
        return await client.api_version(), await read_scheduled(client)


_SIGNS = {"ok": "ok  ", "warn": "WARN", "fail": "FAIL"}


def doctor(
    options: SwarmOptions = SwarmOptions(),  # noqa: B008 - frozen, and replaced by the options given
    deep: Annotated[
        bool, typer.Option("--deep", help="Load the models and let each say a few words.")
    ] = False,
    login: Annotated[
        bool, typer.Option("--login", help="Log in by OAuth at the MCP servers that ask for it.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check what is installed, which models and Prefect server are used and where data lies."""
    checks = check_all(options, deep=deep, login=login)
    failed = sum(check.status == "fail" for check in checks)
    if as_json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            _print(check)
    return ExitCode.FAILED if failed else ExitCode.COMPLETED


def _print(check: Check) -> None:
    print_text(f"{_SIGNS[check.status]}  {check.name:<16} {visible(check.detail)}")
    if check.fix:
        print_text(f"      {'':<16} {visible(check.fix)}")
