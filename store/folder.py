"""`RunFolder`: a run as a folder of readable files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache

from ..errors import RunDamagedError, RunNotFoundError
from ..settings import home
from ..untrusted.folder import MOST_BYTES, MOST_TEXT_BYTES, FolderReader, read_file
from ..untrusted.opening import is_plain_name
from .event_log import EventLog, EventReader, events_of_kinds, last_event, opened_log
from .events import RunEvent
from .filed_run import FiledRun
from .layout import ABOUT, EVENTS, LOCK
from .lock import erase_unlocked, hold_lock, is_locked
from .protocol import RunStore, is_whole_id, run_id_of

__all__ = ["RunFolder"]

_TAIL_BYTES = 65_536
"""Most of the time the last event is far shorter."""


@dataclass(frozen=True, slots=True)
class RunFolder(FolderReader, FiledRun):
    """A run's folder: the `RunStore` that people can look into."""

    @property
    def run_id(self) -> str:
        """The short name."""
        return self.folder.name

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(flow_run_id: str) -> RunFolder:
        """Return the folder of that flow run; nothing is made yet.

        Remembered, because reading the settings takes longer than a small write does.

        Raises:
            RunNotFoundError: No folder can have such a name.
        """
        name = run_id_of(flow_run_id)
        if name and not is_plain_name(name):
            raise RunNotFoundError(f"No run is called {flow_run_id[:40]!a}.", "Check the name.")
        return RunFolder(home() / "runs" / name)

    @staticmethod
    def find(name: str) -> RunFolder:
        """Find a run by its id or its flow run's id.

        Raises:
            RunDamagedError: What says which flow run it was can't be read, and the name doesn't; or
                its folder has links in it.
            RunNotFoundError: There is none.
        """
        name = name.strip()
        root = home() / "runs"
        run = RunFolder(root / run_id_of(name))
        if not is_plain_name(run_id_of(name)) or not run.folder.is_dir():
            known = sorted(path.parent.name for path in root.glob(f"*/{ABOUT}"))
            advice = (
                f"The last ones are {', '.join(known[-5:])}." if known else "There are no runs yet."
            )
            raise RunNotFoundError(f"No run {name!r} is stored in {root}.", advice)
        run.names_below()  # Refuses what it may not have in it.
        flow_run_id = run.about().flow_run_id
        if not flow_run_id and not is_whole_id(name):
            raise RunDamagedError(
                f"{run.folder / ABOUT} doesn't say which flow run {run.run_id} was.",
                f"Give the flow run's whole id instead, which begins with {run.run_id[:8]}; "
                f"the Prefect UI and `prefect flow-run ls` show it.",
            )
        if flow_run_id and name not in (run.run_id, flow_run_id, flow_run_id.replace("-", "")):
            raise RunNotFoundError(
                f"Run {run.run_id} in {root} is flow run {flow_run_id}, not {name!r}.",
                "Check the name.",
            )
        return run

    def other(self, run_id: str) -> RunFolder:
        """Return the folder of another run, beside this one."""
        return RunFolder(self.folder.parent / run_id)

    def share(self, name: str, source: RunStore) -> bool:
        """Give another run's file a second name here, where the file system has links."""
        if not isinstance(source, RunFolder):
            return False
        self.files.share(name, source.files)
        return True

    # --- the run ------------------------------------------------------------------------------

    def has_started(self) -> bool:
        """Say whether the folder has anything of the run except the lock."""
        try:
            return any(path.name != LOCK for path in self.folder.iterdir())
        except FileNotFoundError:
            return False
        except NotADirectoryError:
            return True  # Something else has its name.

    def exclusive(
        self,
        lost: Callable[[], object] = lambda: None,  # noqa: ARG002 - no lock is lost
    ) -> AbstractContextManager[None]:
        """Hold the run's lock, which no other process can take meanwhile."""
        return hold_lock(self)

    def is_executed(self) -> bool:
        """Say whether a process of this machine holds the run's lock."""
        return is_locked(self)

    def token(self) -> int:
        """Return 0: nothing that is written is refused."""
        return 0

    @contextmanager
    def take_part(
        self,
        token: int,  # noqa: ARG002 - nothing is refused by it
        key: str,
        place: str,
        sent: str = "",
    ) -> Generator[int]:
        """Note where an attempt was begun; its folder is here, or it isn't."""
        if not self.has_started():
            raise RunNotFoundError(f"There is no folder {self.folder}.")
        yield self.write_start(key, place, sent)

    def running_s(self) -> float | None:
        """Return the seconds since who holds the run's lock took it; None if nobody does."""
        if not self.is_executed():
            return None
        with suppress(OSError):
            return max(0.0, time.time() - self.files.state(LOCK).st_mtime)
        return 0.0

    def texts(self) -> Iterator[str]:
        """Yield what each file holds; links are no files of the run."""
        if self.folder.is_dir():
            for path in sorted(self.folder.rglob("*")):
                if not path.is_symlink() and path.is_file():
                    yield read_file(path, MOST_BYTES).decode("utf-8", "replace")

    def erase(self) -> bool:
        """Remove the folder, unless a process executes the run."""
        return erase_unlocked(self)

    # --- events -------------------------------------------------------------------------------

    def event_log(self) -> AbstractContextManager[EventLog]:
        """Open the file of events to append to it."""
        return opened_log(self.folder / EVENTS)

    def event_feed(self, start: int = 1) -> EventReader:
        """Return a reader of the file of events."""
        return EventReader(self.folder / EVENTS, start)

    def events(self, kinds: Collection[str] = ()) -> Iterator[RunEvent]:
        """Yield the events; of long files, lines of other kinds are passed over unread."""
        if kinds:
            return events_of_kinds(self.folder / EVENTS, kinds)
        return self.event_feed().fresh()

    def last_event(self) -> RunEvent | None:
        """Return the last event; only the end of the file is read, if that is enough."""
        with self.opened(EVENTS) as file:
            if file is None:
                return None
            file.seek(-min(_TAIL_BYTES, file.seek(0, os.SEEK_END)), os.SEEK_END)
            # A line that is cut off at its beginning is no event.
            if (found := last_event(file.read(_TAIL_BYTES))) is not None:
                return found
        return last_event(self.read_bytes(EVENTS, MOST_TEXT_BYTES) or b"")
