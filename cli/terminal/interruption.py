"""Clean cancellation on SIGINT or SIGTERM, and a report of which one came."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from ...errors import ExitCode, RunCancelledError, RunTerminatedError
from ...flows.control import AskPerson, RunControl
from ...flows.prefect_io.temporary_server import Server
from ...store.events import BeganEvent, EventSink, RunEvent

__all__ = ["Interruption", "Terminated", "interruptible", "terminate"]


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _nothing(_: RunEvent) -> None:
    return


class Interruption:
    """Hears of the signals while a run is under way; `control` is what the run has to be given."""

    def __init__(
        self,
        server: Server,
        note: Callable[[str], None],
        handle: EventSink,
        ask_person: AskPerson | None = None,
    ) -> None:
        self.control = RunControl(listener=self._handle, ask_person=ask_person)
        self.terminated = False
        self._server = server
        self._note = note
        self._emit = handle

    def error(self, problem: str, fix: str) -> RunCancelledError:
        """Return the words for the end of the run; `problem` without its full stop."""
        if self.terminated:
            return RunTerminatedError(f"{problem} by SIGTERM.", fix)
        return RunCancelledError(f"{problem}.", fix)

    def listen(self) -> None:
        """Hear of the signals from now on."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._interrupt, number)

    def _handle(self, event: RunEvent) -> None:
        if isinstance(event, BeganEvent):
            # A flow run that starts takes SIGTERM for itself, and raises in whatever just runs.
            self.listen()
        self._emit(event)

    def _interrupt(self, number: signal.Signals) -> None:
        if self.control.cancel.is_set():
            if self._server.process is not None:
                self._server.process.kill()
            os._exit(ExitCode.TERMINATED if number == signal.SIGTERM else ExitCode.CANCELLED)
        self.terminated = number == signal.SIGTERM
        self.control.cancel.set()
        again = "Send SIGTERM" if self.terminated else "Press Ctrl-C"
        self._note(f"Cancelling: running steps are stopped. {again} again to leave immediately.")


@asynccontextmanager
async def interruptible(
    server: Server,
    note: Callable[[str], None],
    handle: EventSink = _nothing,
    ask_person: AskPerson | None = None,
) -> AsyncGenerator[Interruption]:
    """Let the first signal cancel what runs inside cleanly, and the second end it immediately.

    Args:
        note: Gets lines that a person should read.
        hear: Gets the run's events.
        ask_person: Asks a person what the run waits for.
    """
    interruption = Interruption(server, note, handle, ask_person)
    before = signal.getsignal(signal.SIGTERM)
    interruption.listen()
    try:
        yield interruption
    finally:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        signal.signal(signal.SIGTERM, before)


class Terminated(KeyboardInterrupt):
    """SIGTERM came: to everything on the way it is what Ctrl-C is."""


def terminate(_number: int, _frame: object) -> None:
    """Be the handler of SIGTERM where no run is under way."""
    raise Terminated
