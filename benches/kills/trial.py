"""Runs that are killed at seeded moments and resumed to their end, and what that cost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from own_prefect import OwnServer

__all__ = ["CALLS", "Tally", "Trial", "nursery"]

_NURSERY = Path(__file__).with_name("nursery.py")
_STEPS = 12
_HEARS_S = 20.0
CALLS = 17
"""Those of a run that is left alone: twelve steps, four of them twice, and the answer."""
_AT_ONCE = 4
_LINES = 40
"""About what a run says from its begin to its end."""


@dataclass
class Tally:
    """What came of the runs.

    Attributes:
        asked_again: Calls beyond those of runs that are left alone: what was under way.
        faults: What must not be, in words.
    """

    runs: int = 0
    strikes: int = 0
    asked_again: int = 0
    faults: list[str] = field(default_factory=list[str])


@dataclass
class Trial:
    """Strikes at processes of a nursery, at moments that a seed decides.

    Attributes:
        delay_s: How long an answer takes.
        back_s: How far the clock is set back in the middle of each process.
        strike: What is done at such a moment; the process's id is given.
    """

    server: OwnServer
    home: Path
    nursery: subprocess.Popen[str]
    seed: int
    delay_s: float = 0.02
    back_s: float = 0.0
    strike: Callable[[int], None] = lambda pid: os.kill(pid, signal.SIGKILL)
    tally: Tally = field(default_factory=Tally)
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def go_on(self, times: int) -> Tally:
        """Strike so many times, and bring each run to its end."""
        while self.tally.strikes < times:
            self._run_to_end(times)
        if remaining := _open_task_runs(self.server):
            self.tally.faults.append(f"{remaining} task runs are RUNNING or PENDING")
        return self.tally

    def _run_to_end(self, times: int) -> None:
        calls = self.home / f"calls-{self.tally.runs}"
        before, name, over = self.tally.strikes, None, dict[str, int]()
        lines: list[str] = []
        while not any(line.startswith("result ") for line in lines):
            is_last = self.tally.strikes >= times
            lines = list(self._process(name, calls, 0 if is_last else self._moment()))
            name = name or next((ln.split()[1] for ln in lines if ln.startswith("began ")), None)
            self._note_finished(lines, calls, over)
            if is_last and lines[-1] != "ended 0":
                self.tally.faults.append(f"run {name} ended by itself: {lines[-1]}")
                break
        self.tally.runs += 1
        self._check(str(name), calls, over, self.tally.strikes - before)

    def _moment(self) -> int:
        return self._random.randint(1, _LINES)

    def _process(self, name: str | None, calls: Path, moment: int) -> Iterator[str]:
        """Run a process, strike when it says that line, and yield all its lines."""
        command = {
            "run": name,
            "calls": str(calls),
            "delay_s": self.delay_s,
            "back_s": self.back_s,
        }
        stdin, stdout = self.nursery.stdin, self.nursery.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{json.dumps(command)}\n")
        stdin.flush()
        pid = 0
        for count, line in enumerate(map(str.rstrip, stdout)):
            if line.startswith("pid "):
                pid = int(line.split()[1])
            if moment and count == moment and not line.startswith("ended "):
                self.strike(pid)
                self.tally.strikes += 1
            yield line
            if line.startswith("ended "):
                return

    def _note_finished(self, lines: list[str], calls: Path, over: dict[str, int]) -> None:
        """Note how often steps had been asked when they were said to have succeeded."""
        asked = _asked(calls)
        for line in lines:
            kind, _, step = line.partition(" ")
            if kind == "succeeded":
                over.setdefault(step, _of_step(asked, step))

    def _check(self, name: str, calls: Path, over: dict[str, int], strikes: int) -> None:
        asked = _asked(calls)
        again = sum(asked.values()) - CALLS
        self.tally.asked_again += again
        faults = self.tally.faults
        if again < 0:
            faults.append(f"run {name}: {-again} calls are missing")
        if again > _AT_ONCE * strikes:
            faults.append(f"run {name}: {again} calls again at {strikes} strikes")
        for step, times in over.items():
            if _of_step(asked, step) > times:
                faults.append(f"run {name}: {step} was asked after it had succeeded")
        folder = self.server.home / "swarm" / "runs" / name
        result = json.loads((folder / "result.json").read_text())
        if result["status"] != "completed" or len(list(folder.glob("outputs/S*"))) != _STEPS:
            faults.append(f"run {name} is {result['status']}")
        faults += [f"run {name} left {path.name}" for path in folder.rglob(".*")]


def _asked(calls: Path) -> Counter[str]:
    return Counter(calls.read_text().splitlines()) if calls.exists() else Counter()


def _of_step(asked: Counter[str], step: str) -> int:
    number = step.removeprefix("S")
    return sum(count for name, count in asked.items() if name.split(",")[0].split(" ")[0] == number)


def _open_task_runs(server: OwnServer) -> int:
    """Count the task runs that are RUNNING or PENDING, once the server has heard of their ends.

    It hears of them by events, a moment after they happened.
    """
    asked = {"task_runs": {"state": {"type": {"any_": ["RUNNING", "PENDING"]}}}}
    deadline = time.monotonic() + _HEARS_S
    while True:
        answer = httpx.post(f"{server.url}/task_runs/count", json=asked, timeout=10.0)
        count = int(answer.raise_for_status().json())
        if not count or time.monotonic() > deadline:
            return count
        time.sleep(0.2)


@contextmanager
def nursery(
    server: OwnServer, log: Path, script: Path = _NURSERY
) -> Generator[subprocess.Popen[str]]:
    """Start the script that forks the processes; the server has to run."""
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, str(script)],
            env=server.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
            process.communicate()
