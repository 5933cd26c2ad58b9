"""One job in one way: its processes, what the model saw of them, and what they left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from provider_server import provider_server

from .counts import count_lines, paid_twice, under_way
from .environments import WAYS, make_environment
from .scripted import BAD_ITEM, Request, Scripted
from .stored import Stored, contents, read_stored

__all__ = ["Row", "try_job"]

LIMIT_S = 180.0
ANSWERS_BEFORE_KILL = 6
PERSON_AFTER_S = 4.0
OWN = "prefect_swarm"
_MODEL = "scripted"


@dataclass(frozen=True)
class Row:
    """What a job took in a way.

    Attributes:
        lines: Lines that the user writes: a script, or a plan and its commands.
        seconds: From the start of the process to its end, both processes together.
        makespan_s: From the first request to the last answer; None where there was a kill or a
            wait for a person.
        requests: Requests that the model had.
        twice: Answers that were there before the process ended and were asked for again.
        under_way: Requests that had no answer at the kill.
        missing: Answers that the job needs and never got.
        bad: What became of the bad answer: "repaired", "stopped" or "passed on"; "" without one.
        done: Whether the last process ended well with all answers.
        stored: What the files hold that it left.
        problem: The end of what it said, where it isn't done.
        load: The machine's load average of a minute, at the end.
    """

    way: str
    job: str
    lines: int
    seconds: float
    makespan_s: float | None
    requests: int
    twice: int | None
    under_way: int | None
    missing: int
    bad: str
    done: bool
    stored: Stored
    problem: str = ""
    load: float = 0.0


def try_job(way: str, job: str, prefect_url: str) -> Row:
    """Do a job in a way, in a folder of its own.

    Args:
        way: A folder of `ways`.
        job: One of `JOBS`.
        prefect_url: The API of the Prefect server that a way on Prefect uses.
    """
    programs = make_environment(way)
    scripted = Scripted(job)
    name = "research" if job == "kill" else job
    with (
        TemporaryDirectory(prefix="alternatives-", ignore_cleanup_errors=True) as folder,
        provider_server(scripted.reply, models=(_MODEL,)) as server,
    ):
        home = Path(folder, "home")
        home.mkdir()
        process = _Processes(way, name, programs, home, server.url, prefect_url)
        begun = time.monotonic()
        if job == "kill":
            code, stopped_s = process.run_until(lambda: scripted.answered >= ANSWERS_BEFORE_KILL)
        elif job == "approval":
            code, stopped_s = process.run_until(lambda: scripted.answered >= 1, PERSON_AFTER_S)
        else:
            code, stopped_s = process.run(process.first), None
        waited = 0.0
        if stopped_s is not None:
            waited = PERSON_AFTER_S if job == "approval" else 0.0
            code = process.run(process.again())
        seconds = time.monotonic() - begun - waited
        requests = scripted.requests
        missing = len(_needed(job).difference(r.key for r in requests if r.answered_s))
        stored = read_stored(contents(home), "a + b" if job == "coding" else "The finding of")
        problem = "" if code == 0 and not missing else process.said()
    return Row(
        way=way,
        job=job,
        lines=_lines(way, name),
        seconds=seconds,
        makespan_s=_makespan(requests) if stopped_s is None else None,
        requests=len(requests),
        twice=None if stopped_s is None else paid_twice(requests, stopped_s),
        under_way=None if stopped_s is None else under_way(requests, stopped_s),
        missing=missing,
        bad=_bad(requests, code) if job == "spread" else "",
        done=code == 0 and not missing,
        stored=stored,
        problem=problem,
        load=os.getloadavg()[0],
    )


class _Processes:
    """The processes of a job in a way."""

    def __init__(
        self, way: str, name: str, programs: Path, home: Path, url: str, prefect_url: str
    ) -> None:
        self._way, self._name, self._programs, self._home = way, name, programs, home
        self._url, self._prefect_url = url, prefect_url
        self._work = home / "work"
        self._work.mkdir()
        self._log = home.parent / "said.txt"
        self._log.touch()

    @property
    def first(self) -> Sequence[str]:
        """The command that begins."""
        if self._way == OWN:
            plan = str(WAYS / OWN / f"{self._name}.json")
            model = ["--model", f"openai:{_MODEL}@{self._url}"]
            approve = ["--approve", "steps"] if self._name == "approval" else []
            return [str(self._programs / "prefect-swarm"), "run", "--plan", plan, *model, *approve]
        return [str(self._programs / "python"), str(WAYS / self._way / f"{self._name}.py")]

    def again(self) -> Sequence[str]:
        """The command that goes on."""
        if self._way != OWN:
            return [*self.first, "yes"] if self._name == "approval" else self.first
        found = re.search(r"Run (\w{12}) begins", self._log.read_text("utf-8", "replace"))
        run = found.group(1) if found else "none"
        command = ["approve", run, "--resume"] if self._name == "approval" else ["resume", run]
        return [str(self._programs / "prefect-swarm"), *command]

    def run(self, command: Sequence[str]) -> int:
        """Run to the end; 124 where that takes too long."""
        process = self._start(command)
        try:
            return process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            return 124
        finally:
            _kill(process)

    def run_until(self, there: Callable[[], bool], after_s: float = 0.5) -> tuple[int, float]:
        """Run until something is there and a while longer, then kill -9 what hasn't ended.

        Returns:
            The exit status, and when it was over, of `time.monotonic`.
        """
        process = self._start(self.first)
        end = time.monotonic() + LIMIT_S
        while not there() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        left = time.monotonic() + after_s
        while process.poll() is None and time.monotonic() < left:
            time.sleep(0.02)
        stopped_s = time.monotonic()
        _kill(process)
        return process.wait(), stopped_s

    def said(self) -> str:
        """The end of what the processes said."""
        return self._log.read_text("utf-8", "replace")[-1500:]

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        own = {
            "HOME": str(self._home),
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": self._url,
            "OPENAI_API_BASE": self._url,
            "PREFECT_API_URL": self._prefect_url,
            "CREWAI_DISABLE_TELEMETRY": "true",
            "OTEL_SDK_DISABLED": "true",
        }
        with self._log.open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self._work,
                env=kept | own,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and what it started, as when a machine stops."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _needed(job: str) -> set[str]:
    if job in {"research", "kill"}:
        return {"join", *(f"research {number}" for number in range(1, 13))}
    if job == "spread":
        return {"find", "join", f"item {BAD_ITEM}"}
    return {"coding"} if job == "coding" else {"draft", "publish"}


def _makespan(requests: Sequence[Request]) -> float | None:
    ends = [request.answered_s for request in requests if request.answered_s is not None]
    return max(ends) - min(request.asked_s for request in requests) if ends else None


def _bad(requests: Sequence[Request], code: int) -> str:
    if any(request.bad_input for request in requests):
        return "passed on"
    if sum(request.key == f"item {BAD_ITEM}" for request in requests) > 1 and code == 0:
        return "repaired"
    return "stopped"


def _lines(way: str, name: str) -> int:
    """Lines of the script or plan; of this package, the command or commands as well."""
    if way == OWN:
        plan = (WAYS / OWN / f"{name}.json").read_text("utf-8")
        return count_lines([plan]) + (2 if name == "approval" else 1)
    return count_lines([(WAYS / way / f"{name}.py").read_text("utf-8")])
