"""Keeps the page of a batch in the Prefect UI up to date while it goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from prefect.client.schemas.objects import FlowRun

from ...metrics.clock import run_time
from ...report.batch_board import BatchBoard, batch_page, batch_words
from ...report.markdown import page_markdown
from ...report.page import masked
from ...report.stored_view import secrets_of
from ...store.protocol import run_id_of
from .pages import PageStore

__all__ = ["batch_page_kept"]

_EVERY_S = 2.0
_CLOSING_S = 30.0

_logger = logging.getLogger("prefect_swarm.runs")


@asynccontextmanager
async def batch_page_kept(
    flow_run: FlowRun, wanted: bool
) -> AsyncGenerator[Callable[[BatchBoard, object], None]]:
    """Yield what takes note of how far a batch is; nothing waits for its page.

    Args:
        flow_run: The batch's.
        wanted: Whether it has a page.
    """
    page = _BatchPage(flow_run)
    keeping = asyncio.create_task(page.keep()) if wanted else None
    try:
        yield page.take
    finally:
        if keeping is not None:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await page.close()


class _BatchPage:
    def __init__(self, flow_run: FlowRun) -> None:
        self._title = flow_run.name
        self._store = PageStore(flow_run.id, run_id_of(str(flow_run.id)))
        self._secrets = secrets_of(None)
        self._board: BatchBoard | None = None
        self._changed = asyncio.Event()
        self._looked = False
        self._putting = asyncio.Lock()

    def take(self, board: BatchBoard, _: object) -> None:
        self._board = board
        self._changed.set()

    async def keep(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            # One that is half sent may be there already, and the next one would be a second page.
            await asyncio.shield(asyncio.create_task(self._put()))
            await asyncio.sleep(_EVERY_S)

    async def close(self) -> None:
        """Publish how it ended."""
        try:
            async with asyncio.timeout(_CLOSING_S):
                await self._put()
        except TimeoutError:
            _logger.warning("The page of the batch took more than %g seconds.", _CLOSING_S)

    async def _put(self) -> None:
        # What is older must not come after what is newer.
        async with self._putting:
            if self._board is None:
                return
            # It changes meanwhile.
            board, now = replace(self._board, lines=dict(self._board.lines)), run_time()

            def text() -> str:
                page = masked(batch_page(board, now, self._title), self._secrets)
                return page_markdown(page, _none)

            try:
                await self._find()
                words = batch_words(board, now)
                await self._store.put("batch", await asyncio.to_thread(text), words)
            except Exception as error:  # noqa: BLE001 - a page must not cost the batch
                why = str(error) or type(error).__name__
                _logger.warning("The page of the batch could not be made: %s", why)

    async def _find(self) -> None:
        """Look for the page that an earlier process of the batch made, so that it is changed."""
        if not self._looked:
            await self._store.find()
            self._looked = True


def _none(_: str) -> str:
    return ""
