"""SIGTERM ends a run wherever it is raised.

Prefect's handler raises in whatever the event loop just does. In a step that is the step's end, in
a callback it is one logged line, and the run would go on until it is killed.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager

from prefect.exceptions import TerminationSignal
from prefect.utilities.engine import is_prefect_sigterm_handler_installed

from ..errors import RunCancelledError
from .control import RunControl

__all__ = ["terminable"]

_under_way: dict[asyncio.Event, RunControl] = {}
"""What SIGTERM cancels: an event that says it came, and the run's control."""


@contextmanager
def terminable(control: RunControl) -> Generator[None]:
    """Cancel a run cleanly by SIGTERM, where no more than Prefect's handler takes it.

    Raises:
        TerminationSignal: The run was cancelled by it; to Prefect the flow run has crashed, or is
            cancelled where a worker was asked to.
    """
    if not _can_listen():
        yield
        return
    came = asyncio.Event()
    if not _under_way:
        _listen()
    _under_way[came] = control
    try:
        yield
    except RunCancelledError as error:
        if came.is_set():
            raise TerminationSignal(signal.SIGTERM) from error
        raise
    finally:
        del _under_way[came]
        if not _under_way:
            _stop_listening()


def _can_listen() -> bool:
    on_main_thread = threading.current_thread() is threading.main_thread()
    return on_main_thread and is_prefect_sigterm_handler_installed()


def _listen() -> None:
    """Hear of the signal in the event loop too; Prefect's handler stays the one in place."""
    before = signal.getsignal(signal.SIGTERM)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _cancel)
    signal.signal(signal.SIGTERM, before)


def _stop_listening() -> None:
    before = signal.getsignal(signal.SIGTERM)
    asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
    signal.signal(signal.SIGTERM, before)


def _cancel() -> None:
    for came, control in _under_way.items():
        came.set()
        control.cancel.set()
