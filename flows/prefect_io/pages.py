"""Keeps a run's pages in the Prefect UI up to date while it goes on."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId
from prefect.client.utilities import get_or_create_client

from ...metrics.clock import run_time
from ...plan.ids import steps_above
from ...report.markdown import page_markdown, plain
from ...report.members import stands_out as is_unusual
from ...report.page import Drawing, Page, RunView, masked
from ...report.run_pages import answer_page, plan_page, timeline_page
from ...report.step_page import step_page
from ...report.stored_view import secrets_of
from ...report.svg.costs import costs_svg
from ...report.svg.graph import graph_svg
from ...report.svg.timeline import timeline_svg
from ...store.events import EndedEvent, ExpandedEvent, PartEvent, RunEvent, TextEvent
from ...store.result import SwarmResult
from ...store.step import StepState
from .live_view import LiveRun
from .task_runs import states_of

__all__ = [
    "MOST_STEP_PAGES",
    "PageStore",
    "RunPages",
    "drawing_of",
    "every_step_has_page",
    "listed_as",
    "stands_out",
]


_NOT_IN_KEYS = re.compile(r"[^a-z0-9]+")
_AT_ONCE = 200  # the most that a server gives back


@dataclass(slots=True)
class PageStore:
    """Puts pages where the UI shows them.

    Attributes:
        flow_run_id: Prefect's id of the flow run.
        run_id: The run's short name, which ends each key.
    """

    flow_run_id: UUID
    run_id: str
    _artifacts: dict[str, UUID] = field(init=False, default_factory=dict[str, UUID])
    _locks: dict[str, asyncio.Lock] = field(init=False, default_factory=dict[str, asyncio.Lock])

    def key(self, page: str) -> str:
        """Return a page's key: `swarm-answer-RUN`, `swarm-s1-RUN`, `swarm-s2-7-r3-s1-RUN`."""
        return f"swarm-{_NOT_IN_KEYS.sub('-', page.lower()).strip('-')}-{self.run_id}"

    def link(self, page: str) -> str:
        """Return where a page is, seen from another one in either UI; "" if it isn't made yet."""
        known = self._artifacts.get(self.key(page))
        return f"../artifact/{known}" if known else ""

    def link_to_be(self, page: str) -> str:
        """Return where a page is or will be: its key's page, from where it can be reached."""
        return self.link(page) or f"../key/{self.key(page)}"

    async def find(self) -> None:
        """Look for the pages that another process of the run made, so that they are changed."""
        own = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[self.flow_run_id]))
        async with _client() as client:
            offset = 0
            while True:
                found = await client.read_artifacts(
                    artifact_filter=own, limit=_AT_ONCE, offset=offset
                )
                for artifact in found:
                    prefix, _, run = (artifact.key or "").rpartition("-")
                    if run == self.run_id and prefix.startswith("swarm-"):
                        self._artifacts.setdefault(artifact.key or "", artifact.id)
                if len(found) < _AT_ONCE:
                    return
                offset += len(found)

    async def put(
        self, page: str, text: str, description: str, task_run: UUID | None = None
    ) -> None:
        """Make a page or change it; one change at a time.

        Args:
            page: Its name: `answer`, `plan`, `timeline` or a step's id.
            text: Markdown.
            description: What a list of artifacts says of it.
            task_run: The task run that it is shown with.
        """
        key = self.key(page)
        async with self._locks.setdefault(key, asyncio.Lock()), _client() as client:
            if (known := self._artifacts.get(key)) is not None:
                await client.update_artifact(
                    known, ArtifactUpdate(data=text, description=description)
                )
                return
            made = await client.create_artifact(
                ArtifactCreate(
                    key=key,
                    type="markdown",
                    description=description,
                    data=text,
                    flow_run_id=self.flow_run_id,
                    task_run_id=task_run,
                )
            )
            self._artifacts[key] = made.id


@asynccontextmanager
async def _client() -> AsyncGenerator[PrefectClient]:
    """Yield the flow run's own client, which is open; a new one takes longer than a page."""
    client, is_open = get_or_create_client()
    if is_open:
        yield client
    else:
        async with client:
            yield client


MOST_STEP_PAGES = 50
"""Pages of steps that a run has at most."""


def every_step_has_page(steps: int) -> bool:
    """Say whether a plan of so many steps has a page of each."""
    return steps <= MOST_STEP_PAGES


def stands_out(step: StepState, final_step: str | None) -> bool:
    """Say whether a step of a longer plan has a page: the first attempt of others succeeded."""
    return is_unusual(step) or step.id == final_step


_logger = logging.getLogger("prefect_swarm.runs")


def drawing_of(view: RunView) -> Callable[[Drawing], str]:
    """Return what draws a run: the SVG of a drawing, "" where there is nothing to draw.

    It is light in both UIs: an image doesn't know which of their themes a person has chosen.
    """

    def draw(drawing: Drawing) -> str:
        try:
            match drawing.kind:
                case "graph":
                    return graph_svg(view, "light")
                case "timeline":
                    return timeline_svg(view, "light")
                case "costs":
                    return costs_svg(view, "light")
        except Exception as error:  # noqa: BLE001 - its words are shown instead
            why = str(error) or repr(error)
            _logger.warning("The %s could not be drawn: %s", drawing.kind, why)
            return ""

    return draw


_REFRESH_S = 2.0
_SHARE = 25  # a refresh that takes long is made so much less often
_STEP_SHARE = 10  # and so is a step's page: pages must not slow what shares the cores with them
_AT_END = 8  # pages of steps that are made in parallel when all steps are over
_CLOSING_S = 30.0
_TITLE_CHARS = 200
_DESCRIPTIONS = {
    "answer": "The answer, and what it took",
    "plan": "The plan and how far it is",
    "timeline": "Timeline, critical path and slack",
}


@dataclass(slots=True)
class RunPages:
    """The pages of one run of one plan. `hear` takes note of changes; nothing waits for a page.

    Attributes:
        live: What is known of the run.
        has_pages: Whether there may be pages of it that another process, or another plan, made.
    """

    live: LiveRun
    has_pages: bool = False
    clock: Callable[[], float] = run_time
    _store: PageStore = field(init=False)
    _secrets: tuple[str, ...] = field(init=False)
    _stale: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _steps: dict[str, None] = field(init=False, default_factory=dict[str, None])
    _groups: dict[str, None] = field(init=False, default_factory=dict[str, None])
    _has_step: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _tasks: list[asyncio.Task[None]] = field(init=False, default_factory=list[asyncio.Task[None]])
    _sending: set[asyncio.Task[None]] = field(init=False, default_factory=set[asyncio.Task[None]])
    _shown: set[str] = field(init=False, default_factory=set[str])
    _view: RunView | None = field(init=False, default=None)
    _looked: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        context = self.live.context
        self._store = PageStore(UUID(context.flow_run_id), context.run.run_id)
        self._secrets = secrets_of(context.options.key_env)

    def start(self) -> None:
        """Publish the pages and keep them up to date, in parallel to the run."""
        self._tasks.append(asyncio.create_task(self._keep()))

    def handle(self, event: RunEvent) -> None:
        """Take note that something changed."""
        if isinstance(event, TextEvent):
            return
        self._stale.set()
        if isinstance(event, ExpandedEvent | PartEvent):
            self._groups[event.step] = None
        if isinstance(event, EndedEvent) and event.step in self.live.context.records:
            self._steps[event.step] = None
            self._has_step.set()
            self._groups.update(dict.fromkeys(steps_above(event.step)))

    async def close(self, result: SwarmResult | None = None) -> None:
        """Publish what is not published yet, and the last state of all.

        Args:
            result: What the run came to; None if another plan takes this one's place.
        """
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        try:
            async with asyncio.timeout(_CLOSING_S):
                # They were begun with what is old now, and must not come after what is new.
                await asyncio.gather(*self._sending, return_exceptions=True)
                await self._finish(result)
        except TimeoutError:
            _warn("not all pages could be made", f"they took more than {_CLOSING_S:g} seconds")
        except Exception as error:  # noqa: BLE001 - a page must not cost the run
            _warn("not all pages could be made", _words(error))
        finally:
            await self._stop_sending()

    async def _stop_sending(self) -> None:
        """Leave no request behind: the flow run's client is closed next."""
        remaining = [*self._sending]
        for task in remaining:
            task.cancel()
        await asyncio.gather(*remaining, return_exceptions=True)

    async def _unbroken(self, sending: Coroutine[Any, Any, None]) -> None:
        """Do it even if its caller is cancelled: a page that is half sent may be there already."""
        task = asyncio.create_task(sending)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        await asyncio.shield(task)

    async def _keep(self) -> None:
        await self._find()
        steps = asyncio.create_task(self._keep_steps())
        try:
            while True:
                self._stale.clear()
                began = time.perf_counter()
                await self._refresh(await self._masked(self.live.view()))
                took = time.perf_counter() - began
                await asyncio.sleep(max(_REFRESH_S, _SHARE * took))
                await self._stale.wait()
        finally:
            steps.cancel()
            await asyncio.gather(steps, return_exceptions=True)

    async def _find(self) -> None:
        """Look once for the pages that there are already, so that they are changed."""
        if self.has_pages and not self._looked:
            with suppress(Exception):  # then they are made anew
                await self._store.find()
        self._looked = True

    async def _keep_steps(self) -> None:
        while True:
            await self._has_step.wait()
            began = time.perf_counter()
            await self._publish_next()
            await asyncio.sleep(_STEP_SHARE * (time.perf_counter() - began))

    async def _publish_all(self) -> None:
        while self._steps:
            await self._publish_next()

    async def _publish_next(self) -> None:
        name = next(iter(self._steps))
        del self._steps[name]
        try:
            await self._unbroken(self._publish_step(name))
        except asyncio.CancelledError:
            self._steps[name] = None  # the last state is published at the end
            raise
        if not self._steps:
            self._has_step.clear()

    async def _finish(self, result: SwarmResult | None) -> None:
        ended_at = None if result is None else self.clock()
        view = await self._masked(self.live.view(result, ended_at))
        # A very short run may not have come to it.
        await self._find()
        await asyncio.gather(*(self._publish_all() for _ in range(_AT_END)))
        await self._refresh(view, is_last=True)

    async def _masked(self, view: RunView) -> RunView:
        """Return the view without secrets; pages of steps are made with it from now on."""
        self._view = await asyncio.to_thread(masked, view, self._secrets)
        return self._view

    async def _refresh(self, view: RunView, *, is_last: bool = False) -> None:
        """Publish the three pages of the run."""
        makes = [partial(make, view) for make in (answer_page, plan_page, timeline_page)]
        # The first ones lead to where the others were to be made; no later refresh mends that.
        again = makes[:-1] if is_last and not self._store.link("timeline") else []
        for make in (*makes, *again):
            await self._unbroken(self._put(view, make, self._link_from_run))
        # However many members have changed, the page of their step is made once.
        groups, self._groups = [*self._groups], {}
        for name in groups:
            if name not in self._steps:
                await self._unbroken(self._publish_step(name))

    async def _publish_step(self, name: str) -> None:
        if not self._has_page(name):
            return
        self._shown.add(name)
        view = self._view or masked(self.live.view(), self._secrets)
        record = self.live.context.records[name]
        states = states_of(() if record.members else record.task_runs)
        task_runs = [state.state_details.task_run_id for state in states]
        task_run = next((each for each in reversed(task_runs) if each), None)

        def page() -> Page:
            step = masked(self.live.step(name), self._secrets)
            return step_page(view, step)

        await self._put(view, page, self._link, task_run)

    def _link_from_run(self, page: str) -> str:
        """Return where a page is; one of the run itself is made soon."""
        is_certain = page in _DESCRIPTIONS
        return (self._store.link_to_be if is_certain else self._store.link)(page)

    def _link(self, page: str) -> str:
        """Return where a page is, or will be if there is to be one for certain."""
        record = self.live.context.records.get(page)
        is_certain = record is None or self._always_has_page(record)
        return (self._store.link_to_be if is_certain else self._store.link)(page)

    def _always_has_page(self, record: StepState) -> bool:
        """Whether there is room for the pages of all steps, or of all that the plan itself has."""
        context = self.live.context
        count = len(context.plan.steps if not record.parent else context.records)
        return every_step_has_page(count)

    def _has_page(self, name: str) -> bool:
        record = self.live.context.records.get(name)
        if record is None:
            return False
        if name in self._shown or self._always_has_page(record):
            return True
        final = self.live.context.plan.final_step
        return len(self._shown) < MOST_STEP_PAGES and stands_out(record, final)

    async def _put(
        self,
        view: RunView,
        make: Callable[[], Page],
        link: Callable[[str], str],
        task_run: UUID | None = None,
    ) -> None:
        """Make a page and publish it; making it may take a while, and is done in a thread."""

        def made() -> tuple[Page, str]:
            page = make()
            return page, page_markdown(page, link, drawing_of(view))

        try:
            page, text = await asyncio.to_thread(made)
            await self._store.put(page.name, text, listed_as(page), task_run)
        except Exception as error:  # noqa: BLE001 - a page must not cost the run
            _warn("a page could not be made", _words(error))


def listed_as(page: Page) -> str:
    """Return what a list of artifacts says of a page; the older UI draws it as Markdown."""
    return _DESCRIPTIONS.get(page.name) or plain(page.title, _TITLE_CHARS)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _warn(what: str, why: str) -> None:
    _logger.warning("In the Prefect UI %s: %s", what, why.rstrip("."))
