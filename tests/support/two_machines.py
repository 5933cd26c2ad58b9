"""Machines of a test, which share a server and nothing else: each has a data folder of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import UUID

import pytest
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect.flow_engine import run_flow_async
from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings
from prefect_swarm import swarm_flow
from prefect_swarm.memory.store import close_stores
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult

__all__ = ["Machines", "ask_server", "execute", "flow_run_of", "scheduled"]

T = TypeVar("T")


def ask_server(question: Callable[[PrefectClient], Awaitable[T]]) -> T:
    """Ask this test's server something."""

    async def ask() -> T:
        async with get_client() as client:
            return await question(client)

    return asyncio.run(ask())


def flow_run_of(flow_run_id: str | UUID) -> FlowRun:
    """Return a flow run as the server has it."""
    return ask_server(lambda client: client.read_flow_run(UUID(str(flow_run_id))))


def scheduled(parameters: dict[str, Any]) -> FlowRun:
    """Create a flow run of a deployment, which nothing executes yet."""

    async def schedule() -> FlowRun:
        deployment = await swarm_flow.ato_deployment("several-machines")
        await deployment.aapply()
        name = "swarm/several-machines"
        run = await cast("Any", run_deployment(name, parameters=parameters, timeout=0))
        async with get_client() as client:
            return await client.read_flow_run(run.id)

    return asyncio.run(schedule())


def execute(flow_run_id: str | UUID) -> SwarmResult:
    """Execute a flow run in this process, as a worker's process does."""

    async def work() -> SwarmResult:
        async with get_client() as client:
            run = await client.read_flow_run(UUID(str(flow_run_id)))
        result = await run_flow_async(swarm_flow, flow_run=run, parameters=run.parameters)
        return SwarmResult.model_validate(result)

    return asyncio.run(work())


class Machines:
    """Puts this process on one machine or another."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._root, self._monkeypatch, self._settings = root, monkeypatch, ExitStack()

    def be(self, name: str) -> Path:
        """Be on that machine; return its data folder."""
        self.leave()
        home = self._root / name / "swarm"
        self._monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(home))
        self._monkeypatch.setattr("socket.gethostname", lambda: name)
        results: dict[Any, Any] = {PREFECT_LOCAL_STORAGE_PATH: self._root / name / "results"}
        self._settings.enter_context(temporary_settings(updates=results))
        return home

    def leave(self) -> None:
        """Be on no machine, with nothing open."""
        close_stores()
        RunFolder.of.cache_clear()
        self._settings.close()
