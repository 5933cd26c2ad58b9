"""`SharedLine`: a line of a batch that several machines do together, done by one of them.

All machines ask the Prefect server for the line's flow run by the same key, and the server makes
one of it. Who had it made runs it; the others look in the store of the runs until it has ended. One
whose machine is gone is taken over.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import FlowCreate, FlowRunCreate
from prefect.client.schemas.objects import Flow, FlowRun
from prefect.context import TagsContext
from prefect.exceptions import Abort
from prefect.states import Pending, to_state_create

from ..errors import InputError, RunAliveError
from ..store.result import RunFailedError, SwarmResult
from ..store.runs import open_run, store_address
from .batch_line import BatchJob
from .prefect_io.schema_flow import ensure_server, refused_in_short
from .swarm import swarm

__all__ = ["LOOK_S", "SharedLine", "check_shareable", "line_parameters"]

LOOK_S = 2.0
"""Seconds between two looks at a line that another machine does."""
_LOOKS = 10
"""Looks in a row at which nobody does it, after which it is taken over."""
_CREATED = 201

_logger = logging.getLogger("prefect_swarm.runs")


def line_parameters(job: BatchJob) -> dict[str, Any]:
    """Return the parameters of a line's flow run."""
    return {
        "objective": job.objective,
        "plan": job.plan,
        "inputs": job.inputs or None,
        "files": job.files or None,
        "options": job.options,
        "fork": None,
    }


def check_shareable() -> None:
    """Check that other machines see the runs of this one.

    Raises:
        InputError: They are in a folder.
    """
    if not store_address():
        raise InputError(
            "A batch that machines share needs runs that all of them reach, and they are in a "
            "folder.",
            "Set PREFECT_INTEGRATIONS_SWARM_STORE to the address of a PostgreSQL server.",
        )


class SharedLine:
    """A line of a batch that several machines do together.

    Args:
        name: The same on all machines, and another one for each line.
        begin_job: Runs a line as its flow run, from its beginning.
        resume: Goes on with a run.
    """

    def __init__(
        self,
        name: str,
        begin_job: Callable[[BatchJob, FlowRun], Awaitable[SwarmResult]],
        resume: Callable[[str], Awaitable[SwarmResult]],
    ) -> None:
        self._name, self._begin_job, self._resume = name, begin_job, resume
        self._flow_run: FlowRun | None = None
        self._looks = 0

    async def run(self, job: BatchJob, begin: Callable[[str], None]) -> SwarmResult | None:
        """Run it, or return what came of it elsewhere; None while another machine does it.

        Args:
            job: What it asks for.
            begin: Notes the run that it begins, before anything is paid for.

        Raises:
            RunFailedError: It failed, here or elsewhere.
        """
        try:
            return await self._result(job, begin)
        except (RunAliveError, Abort):
            # Another machine was quicker, also where this one was slow to begin what it created;
            # from inside the flow that comes as Prefect's signal.
            return None

    async def _result(self, job: BatchJob, begin: Callable[[str], None]) -> SwarmResult | None:
        if self._flow_run is None:
            self._flow_run, is_new = await _created_once(line_parameters(job), self._name)
            if is_new:
                begin(str(self._flow_run.id))
                return await self._begin_job(job, self._flow_run)
        run = open_run(str(self._flow_run.id))
        if (result := run.result()) is not None:
            if result.status == "failed":
                raise RunFailedError(result.problem, result=result)
            return result
        self._looks = 0 if run.is_executed() else self._looks + 1
        if self._looks < _LOOKS:
            return None
        self._looks = 0
        _logger.warning("Run %s is done by no machine any more; this one goes on.", run.run_id)
        if run.about():
            return await self._resume(run.run_id)
        return await self._begin_job(job, self._flow_run)


async def _created_once(parameters: dict[str, Any], key: str) -> tuple[FlowRun, bool]:
    """Return the flow run of a key, and whether it was created just now."""
    ensure_server()
    async with get_client() as client:
        flow = await client.request(
            "POST", "/flows/", json=FlowCreate(name=swarm.name).model_dump(mode="json")
        )
        wanted = FlowRunCreate(
            flow_id=Flow.model_validate(flow.json()).id,
            flow_version=swarm.version,
            parameters=swarm.serialize_parameters(parameters),
            tags=sorted(TagsContext.get().current_tags),
            state=to_state_create(Pending()),
            idempotency_key=f"swarm-batch/{key}",
        )
        content = wanted.model_dump(mode="json", exclude_unset=True)
        found = await refused_in_short(client.request("POST", "/flow_runs/", json=content))
    return FlowRun.model_validate(found.json()), found.status_code == _CREATED
