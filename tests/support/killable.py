"""Stories of runs that are killed at a moment of them, as `tests/flows/killable_run.py` does it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from prefect.settings import get_current_settings
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.filed_run import FiledRun
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Question

__all__ = [
    "FAILED",
    "KILLS",
    "Ended",
    "Killable",
    "Story",
    "killable",
    "killed_often",
    "mostly_exhaustive",
    "spread",
]

SCRIPT = Path(__file__).parents[1] / "flows" / "killable_run.py"
KILLS = int(os.environ.get("KILLS", "30"))
"""How many times each story is killed."""
KILLED, WAITS, FAILED = -9, 4, 1
"""How a process ends that was killed, that was left waiting for a person, and whose run failed."""
_MOST_PROCESSES = 30
_FEWER = 7


@dataclass(frozen=True)
class Ended:
    """How a process ended, and the moments at which it might have been killed."""

    code: int
    moments: tuple[str, ...]


@dataclass
class Killable:
    """Carries orders out, each in a process of its own."""

    process: subprocess.Popen[str]

    def carry_out(self, folder: Path, do: str, *, kill_at: int | str = 0, **order: Any) -> Ended:
        """Have something done; see `Order` of the script."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        given = {"do": do, "folder": str(folder), "kill_at": kill_at, **order}
        self.process.stdin.write(json.dumps(given) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        return Ended(reply["code"], tuple(reply["moments"]))


@contextmanager
def killable() -> Generator[Killable]:
    """Start the script against this test's server."""
    api = get_current_settings().api.url
    assert api is not None
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT)],
        env={
            **os.environ,
            "PREFECT_API_URL": api,
            "PYTHONPATH": str(Path(__file__).parent),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Killable(process)
    finally:
        process.kill()
        process.communicate()


def mostly_exhaustive(first: str | tuple[Any, ...], *others: str | tuple[Any, ...]) -> list[Any]:
    """Return moments to be killed at, of which the tests of each change take the first alone."""
    rest = (other if isinstance(other, tuple) else (other,) for other in others)
    return [first, *(pytest.param(*other, marks=pytest.mark.exhaustive) for other in rest)]


def spread(moments: int, kills: int = KILLS) -> list[int]:
    """Return numbers of moments to be killed at, from the first to the last, none twice."""
    assert moments >= kills, f"there are {moments} moments for {kills} kills"
    if kills == 1:
        return [1 + moments // 2]
    return [1 + (moments - 1) * kill // (kills - 1) for kill in range(kills)]


@dataclass
class Story:
    """A run from its beginning to its end, with a person who answers; killed once, or twice.

    After each process `check` asserts what has to hold at any moment. A kill costs no call of a
    step that had finished, and no more than `lost` others.

    Attributes:
        lost: The most calls of a model that are under way at once.
        ends: How a process may end.
        kill_at: The moment, by its number or by what it is; 0: it isn't killed.
        again: The moment at which the next process is killed as well, if it has so many; 0: it
            isn't.
        kills: What the moments were.
        spared: What is done before anything is killed or counted.
        moments: Those that there were.
        given: What a person has decided for certain, by question.
        meant: The same, with what may not have been written down.
    """

    lost: ClassVar[int] = 1
    ends: ClassVar[tuple[int, ...]] = (0, WAITS, KILLED)
    runs: Killable
    folder: Path
    kill_at: int | str = 0
    spared: tuple[str, ...] = ()
    again: int = 0
    kills: list[str] = field(default_factory=list)
    moments: list[str] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)
    meant: dict[str, str] = field(default_factory=dict)
    last: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir()

    @property
    def killed_at(self) -> str:
        """What the moment was, or both; "" while it isn't killed."""
        return ", then ".join(self.kills)

    def next_order(self) -> dict[str, Any] | None:
        """Say what is done next, by what the folder has; None at the end."""
        raise NotImplementedError

    def check(self) -> None:
        """Assert what has to hold at any moment."""
        raise NotImplementedError

    def play(self) -> None:
        """Go on until there is nothing more to do."""
        finished: dict[str, int] = {}
        for _ in range(_MOST_PROCESSES):
            if (order := self.next_order()) is None:
                break
            if self._is_killed_in(order):
                self._check_repeated(finished)
                finished = self._finished_calls()
            self.check()
        else:
            raise AssertionError(f"it doesn't end; killed at {self.killed_at}")
        self._check_repeated(finished)

    def _check_repeated(self, finished: dict[str, int]) -> None:
        calls = Counter(self.lines("calls"))
        assert {name: calls[name] for name in finished} == finished, self.killed_at
        assert sum(calls.values()) - len(calls) <= self.lost * len(self.kills), (
            calls,
            self.killed_at,
        )

    def _is_killed_in(self, order: dict[str, Any]) -> bool:
        is_counted = order["do"] not in self.spared
        kill_at = self._left() if is_counted else 0
        if (name := order.get("question")) is not None:
            self.meant[name] = order["verdict"]
        ended = self.runs.carry_out(self.folder, kill_at=kill_at, **order)
        self.last = ended.code
        if is_counted:
            self.moments += ended.moments
        if ended.code == KILLED:
            # Where another process kills it, it may come to a further moment before it is dead.
            meant = kill_at if kill_at in ended.moments else ended.moments[-1]
            self.kills.append(str(meant))
        assert ended.code in self.ends, f"{order}: {ended.code}, after {self.killed_at}"
        if ended.code != KILLED and name is not None:
            self.given[name] = order["verdict"]
        return ended.code == KILLED

    def _left(self) -> int | str:
        if self.kills:
            return self.again if len(self.kills) == 1 else 0
        if isinstance(self.kill_at, str):
            return self.kill_at
        return max(self.kill_at - len(self.moments), 0)

    # --- what the folder has ----------------------------------------------------------------------

    def lines(self, name: str) -> list[str]:
        """Return what was noted in a file."""
        with suppress(FileNotFoundError):
            return (self.folder / name).read_text("utf-8").splitlines()
        return []

    def begun(self) -> list[FiledRun]:
        """Return the runs that have begun. Who is killed before that begins another one."""
        folders = (RunFolder(path) for path in (self.folder / "swarm" / "runs").glob("*"))
        return [run for run in folders if run.about()]

    def own(self) -> list[FiledRun]:
        """Return the runs that are killed."""
        return self.begun()

    def waits(self) -> Sequence[Question]:
        """Return what is asked, if the last process was left waiting."""
        if self.last != WAITS:
            return ()
        return [question for run in self.begun() for question in Approvals(run).pending()]

    def decided(self, run: FiledRun) -> dict[str, str]:
        """Return what was decided, by question; withdrawn questions are left out."""
        approvals = Approvals(run)
        answers = (approvals.answer_to(question.id) for question in approvals.questions())
        return {a.question: a.verdict for a in answers if a is not None and not a.is_withdrawal}

    def check_decisions(self) -> dict[str, str]:
        """Assert that what was decided is there and nothing else is; return it by question."""
        found = self.decided(self.begun()[0]) if self.begun() else {}
        assert found.items() <= self.meant.items(), self.killed_at
        assert self.given.items() <= found.items(), self.killed_at
        return found

    def _finished_calls(self) -> dict[str, int]:
        calls = Counter(self.lines("calls"))
        done = {f"do {name}" for run in self.own() for name in run.finished_steps()}
        return {name: calls[name] for name in done if name in calls}


def killed_often(make: Callable[[int, Path], Story], folder: Path) -> None:
    """Play a story once, and then once for each kill.

    The moments of the kills are written into the file `killed_at` of the folder.

    Args:
        make: Makes a story that is killed at a moment, in a folder.
    """
    whole = make(0, folder / "whole")
    whole.play()
    numbers = spread(len(whole.moments))
    moments = [_killed(make, number, folder / str(kill)) for kill, number in enumerate(numbers)]
    (folder / "killed_at").write_text("".join(f"{moment}\n" for moment in moments), "utf-8")


def _killed(make: Callable[[int, Path], Story], number: int, folder: Path) -> str:
    story = make(number, folder)
    story.play()
    if story.killed_at:
        return story.killed_at
    # It had fewer moments this time: threads take turns otherwise, a person decides otherwise.
    return _killed(make, len(story.moments) - _FEWER, folder.with_name(f"{folder.name}-again"))
