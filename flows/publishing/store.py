"""Artifacts of a flow run on the Prefect server: a page each, made once and changed after that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId
from prefect.client.utilities import get_or_create_client

from ...text import count_in

__all__ = ["PageStore"]

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
        """Return a page's key: `swarm-answer-RUN`, `swarm-s1-RUN`."""
        return f"swarm-{page.lower()}-{self.run_id}"

    def link(self, page: str) -> str:
        """Return where a page is, seen from another one in either UI; "" if it isn't made yet."""
        known = self._artifacts.get(page)
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
                        page = prefix.removeprefix("swarm-")
                        name = page.upper() if count_in(page[1:]) is not None else page
                        self._artifacts.setdefault(name, artifact.id)
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
        async with self._locks.setdefault(page, asyncio.Lock()), _client() as client:
            if (known := self._artifacts.get(page)) is not None:
                await client.update_artifact(
                    known, ArtifactUpdate(data=text, description=description)
                )
                return
            made = await client.create_artifact(
                ArtifactCreate(
                    key=self.key(page),
                    type="markdown",
                    description=description,
                    data=text,
                    flow_run_id=self.flow_run_id,
                    task_run_id=task_run,
                )
            )
            self._artifacts[page] = made.id


@asynccontextmanager
async def _client() -> AsyncGenerator[PrefectClient]:
    """Yield the flow run's own client, which is open; a new one takes longer than a page."""
    client, is_open = get_or_create_client()
    if is_open:
        yield client
    else:
        async with client:
            yield client
