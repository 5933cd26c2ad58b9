"""First requests of a plan's steps, made before the plan is complete, and their answers."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field

from ..errors import Category, ModelError, NoPlanError, RunDamagedError
from ..models.request_context import waits_to
from ..plan.schedule import ConcurrencyLimits
from ..store.accounts import Accounts
from ..store.attempt import Usage
from ..store.events import EndedEvent, EventSink, ReadyEvent, StartedEvent, TextEvent
from ..store.protocol import RunStore
from ..tasks.context import AttemptBudget, task_context
from ..tasks.subagent.request import SubagentRequest, SubagentResult
from ..tasks.subagent.task import answer
from ..text import dollars, plural
from .bounds import Ledger
from .control import wait_events
from .event_log import text_events

__all__ = [
    "PrestartedRequests",
    "accounted",
    "is_prestart_stored",
    "is_prestarted",
    "prestart_key",
    "store_answer",
    "stored_answer",
]


_logger = logging.getLogger("prefect_swarm.runs")
_MARK = ".ahead."


def prestart_key(request: SubagentRequest) -> str:
    """Return the key that a request is paid for under while its plan has none."""
    return f"{request.run}{_MARK}{_name(request)}"


def store_answer(run: RunStore, request: SubagentRequest, result: SubagentResult) -> None:
    """Keep an answer; what a provider didn't answer is asked again."""
    if result.category is not Category.UNAVAILABLE:
        run.write_record("prestart", result, _name(request))


def stored_answer(run: RunStore, request: SubagentRequest) -> SubagentResult | None:
    """Return what a request was answered, in this process or an earlier one."""
    return _read(run, _name(request))


def is_prestarted(key: str) -> bool:
    """Say whether a call, by its key in the accounts, was made ahead of its plan."""
    return _MARK in key


def is_prestart_stored(run: RunStore, key: str) -> bool:
    """Say whether a call, by its key in the accounts, was made ahead and its answer is kept."""
    _, mark, name = key.partition(_MARK)
    return bool(mark) and _read(run, name.rpartition(".")[0]) is not None


def _read(run: RunStore, name: str) -> SubagentResult | None:
    try:
        return run.record("prestart", SubagentResult, name)
    except RunDamagedError:
        _logger.warning("%s is damaged. The step is asked again.", run.place("prestart", name))
        return None


def _name(request: SubagentRequest) -> str:
    return f"{request.step}.{request.content_hash()}"


_WITHDRAWN = "The plan was written on without it."


@dataclass(frozen=True, slots=True)
class _Asked:
    request: SubagentRequest
    task: asyncio.Task[SubagentResult]

    @property
    def is_usable(self) -> bool:
        """Whether its answer is one, or may become one; what a provider didn't answer is none."""
        if not self.task.done():
            return True
        if self.task.cancelled() or self.task.exception() is not None:
            return False
        return self.task.result().category is not Category.UNAVAILABLE


@dataclass(slots=True)
class PrestartedRequests:
    """Requests that are made before a plan is complete, as many in parallel as attempts may run.

    Each is paid for under a key of its own. The attempt whose request is equal takes the answer;
    what no attempt needs is cancelled.

    Attributes:
        emit: Where it goes that steps start.
        stream_text: Whether providers are asked to stream.
        answers: Those finished or under way, by the hash of what is asked; task runs take them
            from their context.
    """

    run: RunStore
    ledger: Ledger
    limits: ConcurrencyLimits
    emit: EventSink
    stream_text: bool = False
    answers: dict[str, asyncio.Future[SubagentResult]] = field(
        init=False, default_factory=dict[str, "asyncio.Future[SubagentResult]"]
    )
    _asked: dict[str, _Asked] = field(init=False, default_factory=dict[str, _Asked])
    _waiting: dict[str, SubagentRequest] = field(
        init=False, default_factory=dict[str, SubagentRequest]
    )
    _running: dict[asyncio.Task[SubagentResult], str] = field(
        init=False, default_factory=dict[asyncio.Task[SubagentResult], str]
    )
    # Requests may be offered from within another one, or from a task run.
    _context: Context = field(init=False, default_factory=copy_context)

    @property
    def begun(self) -> frozenset[str]:
        """The steps that have a started event, and that no attempt has taken."""
        return frozenset(asked.request.step for asked in self._asked.values())

    @property
    def under_way(self) -> frozenset[str]:
        """Those of them whose requests are not answered yet."""
        return frozenset(
            asked.request.step for asked in self._asked.values() if not asked.task.done()
        )

    def offer(self, requests: Iterable[SubagentRequest]) -> None:
        """Make the requests of a plan so far as soon as there is room, the longest path first.

        What was asked for a step that is another by now is withdrawn.
        """
        offered = {request.content_hash(): request for request in requests}
        steps = {request.step for request in offered.values()}
        self._withdraw(
            name
            for name, asked in self._asked.items()
            if asked.request.step in steps and name not in offered
        )
        self._waiting = {
            name: request
            for name, request in offered.items()
            if name not in self._asked and stored_answer(self.run, request) is None
        }
        self._start()

    async def settle_on(self, requests: Iterable[SubagentRequest]) -> None:
        """Keep what the plan, which is there, needs; withdraw the rest, and begin nothing more."""
        self._waiting.clear()
        needed = {request.content_hash() for request in requests}
        withdrawn = self._withdraw(name for name in self._asked if name not in needed)
        await asyncio.gather(*withdrawn, return_exceptions=True)

    def take(self, request: SubagentRequest) -> bool:
        """Let an attempt's task run take the answer to an equal request; False if there is none.

        The ledger then takes it for paid.
        """
        # What an attempt has taken is withdrawn with it, not with what another plan doesn't need.
        name = request.content_hash()
        asked = self._asked.pop(name, None)
        if asked is None or not asked.is_usable:
            self.answers.pop(name, None)
            if (stored := stored_answer(self.run, request)) is None:
                return False
            self.answers[name] = _answered(stored)
        self.ledger.take_over(request)
        return True

    async def aclose(self) -> None:
        """Cancel what is under way, and wait until it is accounted for."""
        self._waiting.clear()
        self.answers.clear()
        self._asked.clear()
        running = [*self._running]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _withdraw(self, names: Iterable[str]) -> list[asyncio.Task[SubagentResult]]:
        names = [*names]
        withdrawn = [self._asked.pop(name) for name in names]
        for name, asked in zip(names, withdrawn, strict=True):
            self.answers.pop(name, None)
            asked.task.cancel()
            step = asked.request.step
            self.emit(EndedEvent(kind="cancelled", step=step, attempt=1, reason=_WITHDRAWN))
        return [asked.task for asked in withdrawn]

    def _start(self) -> None:
        while (name := self._next()) is not None:
            request = self._waiting.pop(name)
            task = asyncio.create_task(self._ask(request), context=self._context.copy())
            self._asked[name] = _Asked(request, task)
            self._running[task] = request.tier
            self.answers[name] = task
            task.add_done_callback(self._end)
            self.emit(ReadyEvent(step=request.step))
            self.emit(StartedEvent(step=request.step, attempt=1, tier=request.tier))

    def _next(self) -> str | None:
        """The waiting request of the longest path, among those that there is room for."""
        used = Counter(self._running.values())
        if used.total() >= self.limits.max_concurrency:
            return None
        most = self.limits.max_concurrency
        open_ = [
            name
            for name, request in self._waiting.items()
            if used[request.tier] < self.limits.tiers.get(request.tier, most)
        ]
        return max(open_, key=lambda name: self._waiting[name].priority, default=None)

    def _end(self, task: asyncio.Task[SubagentResult]) -> None:
        del self._running[task]
        if not task.cancelled():
            task.exception()  # The taker of the answer sees it.
        self._start()

    async def _ask(self, request: SubagentRequest) -> SubagentResult:
        own = request.model_copy(update={"key": prestart_key(request)})
        bounded = await self.ledger.reserve(own)
        event = TextEvent(step=request.step, attempt=1)
        usage, is_exact = None, False
        budget = AttemptBudget()
        try:
            with (
                task_context(budget=budget),
                waits_to(wait_events(self.emit, request.step, 1)),
                text_events(self.emit, event, of_providers=self.stream_text),
            ):
                result = await answer(bounded)
            # Counted before it is stored.
            usage, is_exact = result.usage, result.category is not Category.TIMEOUT
            store_answer(self.run, request, result)
            return result
        finally:
            if usage is None and budget.taken.requests:
                usage, is_exact = budget.taken, True
            self.ledger.settle(own.key, usage, is_exact=is_exact)


def _answered(result: SubagentResult) -> asyncio.Future[SubagentResult]:
    answered = asyncio.get_running_loop().create_future()
    answered.set_result(result)
    return answered


@asynccontextmanager
async def accounted(prestarted: PrestartedRequests) -> AsyncGenerator[None]:
    """End what was asked ahead of a plan that isn't written inside; its error says what it took."""
    try:
        yield
    except (ModelError, NoPlanError) as error:
        await prestarted.aclose()
        if note := _note(prestarted.ledger.accounts):
            error.problem = f"{error.problem} {note}"
            error.args = (error.problem, *error.args[1:])
        raise


def _note(accounts: Accounts) -> str:
    asked = [booking for key, booking in accounts.settled.items() if is_prestarted(key)]
    if not asked:
        return ""
    steps = sorted({booking.step for booking in asked}, key=lambda step: (len(step), step))
    usage = sum((booking.usage for booking in asked), Usage())
    money = f", {dollars(usage.cost_usd)}" if usage.cost_usd is not None else ""
    return (
        f"Of what was written of it, {', '.join(steps)} had been asked: "
        f"{plural(usage.requests, 'answer')}, {plural(usage.tokens, 'token')}{money}. They are "
        "kept for a plan that has the same steps."
    )
