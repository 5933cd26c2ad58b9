"""A run in a notebook: a board that changes while the cell runs."""

from __future__ import annotations

import asyncio
import importlib
import io
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console
from rich.text import Text

from ..metrics.clock import run_time
from ..report.board import Board, reduce
from ..report.drawn_board import draw
from ..store.event_wording import LogState, log_line
from ..store.events import FinishedEvent, RunEvent
from .control import controlled, current_control

__all__ = ["NotebookBoard", "shown_in_notebook"]

_COLUMNS, _LINES = 110, 24
_EVERY_S = 0.5
_FORMAT = (
    '<pre style="margin:0;line-height:1.35;white-space:pre;overflow-x:auto;background:none;'
    'color:inherit">{code}</pre>'
)


@dataclass(slots=True)
class NotebookBoard:
    """The state of a run, and how a notebook shows it.

    Attributes:
        show: Puts HTML in the place of what was shown before.
    """

    show: Callable[[str], None]
    board: Board
    _words: str = field(init=False, default="")
    _state: LogState = field(init=False, default_factory=LogState)

    def handle(self, event: RunEvent) -> None:
        """Take an event. It is shown with the next `draw`."""
        self._state.handle(event)
        self.board = reduce(self.board, event)
        if isinstance(event, FinishedEvent):
            self._words = log_line(event, self._state) or ""

    def draw(self) -> None:
        """Show the run as it is now; one line once it is over."""
        # In a notebook rich would show it by itself, too, and anew each time.
        console = Console(
            file=io.StringIO(),
            record=True,
            width=_COLUMNS,
            markup=False,
            emoji=False,
            force_jupyter=False,
        )
        if self._words:
            console.print(Text(self._words))
        else:
            console.print(draw(self.board, run_time(), _LINES, Text(""), ""))
        self.show(console.export_html(inline_styles=True, code_format=_FORMAT))


@asynccontextmanager
async def shown_in_notebook(objective: str) -> AsyncGenerator[None]:
    """Show the run inside in the cell that awaits it; does nothing outside a notebook."""
    if (show := _place()) is None:
        yield
        return
    shown, outer = NotebookBoard(show, Board(objective)), current_control()

    def handle(event: RunEvent) -> None:
        shown.handle(event)
        outer.listener(event)

    drawing = asyncio.create_task(_draw(shown))
    try:
        with controlled(replace(outer, listener=handle)):
            yield
    finally:
        drawing.cancel()
        with suppress(asyncio.CancelledError):
            await drawing
        shown.draw()


async def _draw(shown: NotebookBoard) -> None:
    while True:
        shown.draw()
        await asyncio.sleep(_EVERY_S)


def _place() -> Callable[[str], None] | None:
    """Return what shows HTML in the cell that runs; None outside a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    display: Any = importlib.import_module("IPython.display")
    handle = display.display(display.HTML(""), display_id=True)
    return lambda text: handle.update(display.HTML(text))
