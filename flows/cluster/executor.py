"""Has the attempts of a run worked on by a Dask cluster, and passes on what its workers say."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast
from uuid import uuid4

from ...errors import ApprovalNeededError, BudgetExceededError, ClusterError, SwarmError
from ...gates import PipelineResult
from ...host.system import package_version
from ...models.names import PYTHON, model_names
from ...models.request_context import current_request
from ...store.protocol import RunStore
from ...tasks.context import current_task
from ...tasks.inspection import Inspection
from ...tasks.subagent.request import SubagentRequest, SubagentResult
from ...tasks.subagent.task import answer
from ..control import caller
from ..options import SwarmOptions, TierOptions
from . import connection, entry
from .connection import Cluster, KnownWorker, scheduler_of
from .payload import (
    MOST_STARTS,
    Answered,
    Began,
    Failed,
    Inspected,
    Lacks,
    Lost,
    Message,
    MessageBatch,
    Outcome,
    RunSetup,
    Said,
    WaitsForPerson,
    Wants,
    Work,
    read_outcome,
)
from .remote import Need, Remote

__all__ = ["DaskExecutor", "executor_of_run"]

_MOST_TRIES = 12
_LOOK_S = 1.0
_READ = 1 << 16
"""Characters after which a worker is let send more."""

_logger = logging.getLogger("prefect_swarm.cluster")


@asynccontextmanager
async def executor_of_run(
    options: SwarmOptions, run: RunStore, flow_run_id: str
) -> AsyncGenerator[DaskExecutor | None]:
    """Yield what works on a run's attempts; None where that is this process.

    Raises:
        ClusterError: The scheduler can't be reached, or no worker can work on the run.
        InputError: `distributed` is not installed.
    """
    if options.executor == "local":
        yield None
        return
    setup = RunSetup(
        version=package_version(),
        run=flow_run_id,
        token=run.token(),
        topic=f"{run.run_id}-{uuid4().hex[:12]}",
        options=options.model_dump(mode="json"),
    )
    executor = DaskExecutor(options, setup)
    try:
        await executor.open()
        yield executor
    finally:
        await executor.close()


class DaskExecutor:
    """Sends the attempts of one run to a cluster."""

    def __init__(self, options: SwarmOptions, setup: RunSetup) -> None:
        """Take the run's options, and what its workers are told of it."""
        self._options, self._setup = options, setup
        self._cluster = Cluster(scheduler_of(options.executor), setup.topic, self._receive)
        self._remotes: dict[str, Remote] = {}
        self._workers: Mapping[str, KnownWorker] = {}
        self._lacks: dict[tuple[str, ...], dict[str, str]] = {}
        self._read: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect, and ask each worker whether it can work on the run.

        Raises:
            ClusterError: The scheduler can't be reached, or no worker can.
        """
        await self._cluster.open()
        await self._wait_for_workers()
        setup = self._setup.model_dump_json()
        found: Mapping[str, Any] = await self._cluster.call(entry.describe, setup)
        problems = {address: str(problem) for address, problem in found.items() if problem}
        for address, problem in problems.items():
            self._note_lack((), address, problem)
        if len(problems) == len(found):
            raise self._without_worker(Need((), None))
        self._watch = asyncio.create_task(self._look())

    async def close(self) -> None:
        """Leave the cluster; what it still works on is stopped there."""
        tasks = [*self._tasks, *([self._watch] if self._watch else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._cluster.close()

    async def answer(self, request: SubagentRequest) -> SubagentResult:
        """Return what a worker was answered; see `Executor`."""
        if self._is_for_here(request):
            return await answer(request)
        context = current_task()
        tier = self._options.tiers.get(request.tier, TierOptions())
        need = Need((f"{request.tier} {request.model}", *request.tools), tier.resource)
        outcome = await self._outcome(need, request=request)
        match outcome:
            case Answered():
                context.budget.taken = outcome.taken
                return outcome.result
            case WaitsForPerson():
                context.budget.taken = outcome.taken
                raise ApprovalNeededError(outcome.problem, outcome.fix, outcome.questions)
            case _:
                raise ClusterError(f"A worker answered {request.step} with {outcome.kind}.")

    async def inspect(self, inspection: Inspection) -> PipelineResult:
        """Return what gates found on a worker; see `Executor`."""
        need = Need(tuple(f"gate {gate}" for gate in inspection.gates), self._options.gate_resource)
        outcome = await self._outcome(need, inspection=inspection)
        if isinstance(outcome, Inspected):
            return outcome.result
        raise ClusterError(f"A worker held an artifact against gates with {outcome.kind}.")

    def _is_for_here(self, request: SubagentRequest) -> bool:
        """Whether it needs what was given in Python, which only this process has."""
        given = caller().toolsets
        return (
            request.tier in current_request().overrides
            or any(name.startswith(PYTHON) for name in model_names(request.model))
            or any(name in given for name in request.tools)
        )

    async def _outcome(self, need: Need, **asked: Any) -> Outcome:
        remote = Remote(need, current_task(), current_request())
        streaming = remote.request.streaming
        streams = (streaming.of_providers, streaming.of_calls) if streaming else None
        work = Work(
            version=self._setup.version,
            key="",
            sent=uuid4().hex[:12],
            setup=self._setup,
            streams=streams,
            **asked,
        )
        for number in range(1, _MOST_TRIES + 1):
            remote.key = f"{work.name}.{self._setup.token}.{work.sent}.{number}"
            outcome = await self._sent(work.model_copy(update={"key": remote.key}), remote)
            match outcome:
                case None:
                    continue
                case Lacks():
                    remote.starts -= remote.worker == outcome.address
                    self._note_lack(need.what, outcome.address, outcome.what, outcome.worker)
                case Lost():
                    raise _lost(remote.key)
                case Failed():
                    raise ClusterError(f"Worker {outcome.worker}: {outcome.problem}")
                case _:
                    return self._with_all(outcome, remote)
        raise ClusterError(
            f"{remote.key} was sent to workers {_MOST_TRIES} times, and none came to an end with "
            "it."
        )

    def _with_all(self, outcome: Outcome, remote: Remote) -> Outcome:
        """Count what workers took that were lost, too."""
        if isinstance(outcome, Answered | WaitsForPerson):
            return outcome.model_copy(update={"taken": remote.taken + outcome.taken})
        return outcome

    async def _sent(self, work: Work, remote: Remote) -> Outcome | None:
        """Send work to a worker, and return what it came to; None if it has to be sent again."""
        client = await self._cluster.client()
        remote.only, remote.worker, remote.waited_s = self._allowed(remote.need), "", 0.0
        remote.ended = asyncio.get_running_loop().create_future()
        if remote.only is not None and not remote.only:
            raise self._without_worker(remote.need)
        resource = remote.need.resource
        future: Any = client.submit(
            entry.attempt,
            work.model_dump_json(),
            key=work.key,
            pure=False,
            retries=0,
            workers=sorted(remote.only) if remote.only is not None else None,
            resources={resource: 1} if resource else None,
            priority=work.request.priority if work.request else 0,
        )
        self._remotes[work.key] = remote
        result = asyncio.ensure_future(cast("Coroutine[Any, Any, str]", future.result()))
        try:
            await asyncio.wait({result, remote.ended}, return_when=asyncio.FIRST_COMPLETED)
            if remote.ended.done():
                remote.ended.result()
                return None
            return read_outcome(result.result())
        except SwarmError:
            raise
        except Exception as error:  # noqa: BLE001 - it is raised unless it passes
            self._explained(error, remote)
            return None
        finally:
            del self._remotes[work.key]
            remote.stop_waiting()
            result.cancel()
            await asyncio.gather(result, return_exceptions=True)
            # Its worker sees that nobody wants it any more.
            future.release()

    def _explained(self, error: Exception, remote: Remote) -> None:
        """Return if work is to be sent once more.

        Raises:
            ClusterError: It isn't.
        """
        if self._cluster.is_lost(error):
            return
        if self._cluster.is_killed(error):
            # Dask counts those, too, that a worker had not begun with.
            if remote.starts < MOST_STARTS:
                return
            raise _lost(remote.key) from None
        if isinstance(error, ImportError | AttributeError):
            raise ClusterError(
                f"A worker or the scheduler at {self._cluster.address} can't load the work: "
                f"{error!r}.",
                f"Install prefect-swarm {self._setup.version} on each of them.",
            ) from None
        raise ClusterError(f"The cluster at {self._cluster.address} failed: {error!r}.") from error

    # --- workers ------------------------------------------------------------------------------

    async def _wait_for_workers(self) -> None:
        clock = asyncio.get_running_loop().time
        end = clock() + connection.START_S
        while not (workers := await self._cluster.workers()):
            if clock() > end:
                raise ClusterError(
                    f"The Dask cluster at {self._cluster.address} has no worker.",
                    f"Start one: dask worker {self._cluster.address}",
                )
            await asyncio.sleep(_LOOK_S / 4)
        self._workers = workers

    def _note_lack(self, need: tuple[str, ...], address: str, what: str, name: str = "") -> None:
        if not name:
            name = self._workers[address].name if address in self._workers else address
        known = self._lacks.setdefault(need, {})
        if known.get(address) != (said := f"{name}: {what}"):
            known[address] = said
            _logger.warning("The Dask worker %s lacks what is needed: %s", name, what)

    def _lacking(self, need: Need) -> dict[str, str]:
        return {**self._lacks.get((), {}), **self._lacks.get(need.what, {})}

    def _allowed(self, need: Need) -> frozenset[str] | None:
        """Return the workers that may; None for any."""
        lacking = self._lacking(need)
        if not lacking:
            return None
        return frozenset(self._workers) - lacking.keys()

    def _able(self, need: Need) -> Iterable[str]:
        lacking = self._lacking(need)
        for address, worker in self._workers.items():
            has = need.resource is None or worker.resources.get(need.resource, 0) >= 1
            if has and address not in lacking:
                yield address

    def _without_worker(self, need: Need) -> ClusterError:
        lacking = self._lacking(need)
        known = [said for address, said in lacking.items() if address in self._workers]
        if known:
            return ClusterError(
                f"No worker of the Dask cluster at {self._cluster.address} can work on it: "
                f"{'; '.join(known)}",
                "Give one what it lacks: a worker has models, keys, toolsets and the store's "
                "address of its own.",
            )
        of = f" with the resource {need.resource}" if need.resource else ""
        return ClusterError(
            f"The Dask cluster at {self._cluster.address} has no worker{of}.",
            f"Start one: dask worker {self._cluster.address}"
            + (f' --resources "{need.resource}=1"' if need.resource else ""),
        )

    async def _look(self) -> None:
        """Look again and again which workers there are, as long as any work has none."""
        while True:
            await asyncio.sleep(_LOOK_S)
            if not self._remotes:
                continue
            try:
                self._workers = await self._cluster.workers()
            except (ClusterError, OSError, TimeoutError) as error:
                if isinstance(error, ClusterError):
                    for remote in [*self._remotes.values()]:
                        remote.end(error)
                continue
            for remote in [*self._remotes.values()]:
                self._look_after(remote)

    def _look_after(self, remote: Remote) -> None:
        if remote.worker in self._workers:
            return
        able = frozenset(self._able(remote.need))
        if not able:
            remote.waited_s += _LOOK_S
            if remote.waited_s >= connection.PATIENCE_S:
                remote.end(self._without_worker(remote.need))
        elif remote.only is not None and not remote.only & able:
            remote.end()

    # --- messages -----------------------------------------------------------------------------

    def _receive(self, text: str) -> None:
        try:
            messages = MessageBatch.model_validate_json(text)
            for message in messages.items:
                if (remote := self._remotes.get(message.key)) is not None:
                    self._handle(message, remote, messages.worker)
            said = sum(len(each.text) for each in messages.items if isinstance(each, Said))
            self._note_read(messages.worker, said)
        except Exception:
            # Dask would end the connection.
            _logger.exception("A message of a Dask worker can't be handled.")

    def _handle(self, message: Message, remote: Remote, worker: str) -> None:
        if isinstance(message, Began):
            remote.begin(worker)
            return
        if worker != remote.worker:
            return  # One that was given up may still go on.
        if isinstance(message, Wants):
            self._begin(self._extended(message, remote, worker))
        else:
            remote.handle(message)

    async def _extended(self, wants: Wants, remote: Remote, worker: str) -> None:
        problem = fix = ""
        try:
            await remote.context.budget.extend(remote.taken + wants.usage, wants.input_tokens)
        except BudgetExceededError as error:
            problem, fix = error.problem, error.fix
        except Exception as error:  # noqa: BLE001 - the attempt waits for an answer
            problem = f"The run can't say whether it can afford that: {error!r}."
        topic = self._setup.topic
        await self._cluster.call(
            entry.reply, topic, wants.key, wants.number, problem, fix, worker=worker
        )

    def _note_read(self, worker: str, characters: int) -> None:
        self._read[worker] = read = self._read.get(worker, 0) + characters
        if read >= _READ:
            self._read[worker] = 0
            self._begin(self._freed(worker, read))

    async def _freed(self, worker: str, characters: int) -> None:
        await self._cluster.call(entry.free, self._setup.topic, characters, worker=worker)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _lost(key: str) -> ClusterError:
    return ClusterError(
        f"{MOST_STARTS} workers were lost that worked on {key}.",
        "Look into the workers' logs: it may take more memory than they have.",
    )


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception as error:  # noqa: BLE001 - the attempt that waits for it is lost with its worker
        _logger.warning("A Dask worker could not be answered: %r", error)
