"""Run Python that a model wrote in the sandbox, and read the results from a signed report."""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ...data_types import Frozen
from ...errors import GateError
from ...text import without_surrogates
from ..sandbox import (
    Program,
    ProgramResult,
    SandboxLimits,
    current_policy,
    prestarted,
    refuse_files,
    run,
    run_prestarted,
)
from ..sandbox.confinement import package_folders

__all__ = [
    "Calls",
    "JobRecord",
    "JobResult",
    "RaisedException",
    "RunReport",
    "Runner",
    "Tests",
    "canary",
    "run_jobs",
    "run_supervisor",
    "supervisor_ready",
]


Runner = Literal["calls", "tests"]

_GUEST = Path(__file__).parents[1] / "sandbox" / "guest"
_FOLDER = "code"
_ALL: tuple[Runner, ...] = ("calls", "tests")
# What its own process may have; how much all may use together each use says.
_PRESTART_LIMITS = SandboxLimits(cpu_s=120, output_bytes=16 << 20)
# Places that a program can write to in addition to its work folder.
_FOLDERS = ("/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own


@contextmanager
def supervisor_ready() -> Generator[None]:
    """Have a supervisor wait for use, with pytest imported; each is used once."""
    if current_policy() != "strict":
        yield
        return
    with prestarted(_program(_ALL, isolated=True, waits=True), _PRESTART_LIMITS):
        yield


async def run_supervisor(
    runners: Sequence[Runner], stdin: bytes, limits: SandboxLimits
) -> ProgramResult:
    """Give a supervisor the jobs, which use these runners, and the key.

    Raises:
        SandboxError: There is no sandbox.
    """
    isolated = current_policy() == "strict"
    if isolated and limits.memory_bytes == _PRESTART_LIMITS.memory_bytes:
        result = await run_prestarted(
            _program(_ALL, isolated=True, waits=True), _PRESTART_LIMITS, stdin, limits
        )
        if result is not None:
            return result
    return await run(_program(runners, isolated, stdin), limits)


def _program(
    runners: Sequence[Runner], isolated: bool, stdin: bytes = b"", *, waits: bool = False
) -> Program:
    setup = {
        "folder": _FOLDER,
        "packages": package_folders(),
        "runners": runners,
        "ahead": waits,
        "folders": _FOLDERS if isolated else (),
        "isolated": isolated,
    }
    names = ("supervisor", *(f"run_{runner}" for runner in runners))
    files = {f"{name}.py": (_GUEST / f"{name}.py").read_bytes() for name in names}
    # Without -P the folder of the files would be searched first; -S keeps `.pth` files and
    # `sitecustomize` from being run. Not -I: the seed of hashes is in the environment.
    argv = ("python", "-P", "-s", "-S", "-B", "supervisor.py", json.dumps(setup))
    return Program(argv, files, stdin)


_READY = "ready\n"
_MIB = 1 << 20
# A frame of no length stands behind the last.
_NO_MORE = bytes(8)


@dataclass(frozen=True, slots=True)
class Calls:
    """Import `modules`, then evaluate `calls` over the names of the last one."""

    modules: tuple[str, ...]
    calls: tuple[str, ...] = ()
    cpu_s: int = 10
    wall_s: float = 30.0
    runner: Literal["calls"] = "calls"


@dataclass(frozen=True, slots=True)
class Tests:
    """Run the tests of `test_files`: the module's name and the text by the path.

    `doctests` are docstrings with examples by the path: name, first line, text. With `emptied`,
    texts by path that take the place of files, it is only reported whether the tests notice; that
    is left out if a test before has failed, other than those in the file `canary`.
    """

    __test__ = False

    test_files: Mapping[str, tuple[str, str]]
    doctests: Mapping[str, Sequence[tuple[str, int, str]]] = field(
        default_factory=dict[str, Sequence[tuple[str, int, str]]]
    )
    emptied: Mapping[str, str] = field(default_factory=dict[str, str])
    canary: str = ""
    cpu_s: int = 30
    wall_s: float = 60.0
    runner: Literal["tests"] = "tests"


class RaisedException(Frozen):
    """An exception: its name, its message, and its traceback as (path, line)."""

    model_config = ConfigDict(extra="ignore")

    name: str
    message: str = ""
    frames: tuple[tuple[str, int], ...] = ()


class JobRecord(Frozen):
    """One thing that a job's process reported; `run_calls` and `run_tests` have them all."""

    model_config = ConfigDict(extra="ignore")

    starts: str | None = None
    module: str | None = None
    call: int | None = None
    gave: Any = None
    test: str | None = None
    outcome: Literal["passed", "failed", "skipped"] | None = None
    raised: RaisedException | None = None
    noticed: bool | None = None


class JobResult(Frozen):
    """How a job ended; `done` is whether its process reported and did all that it had to.

    `late` is whether it had to be killed at the end of its time.
    """

    model_config = ConfigDict(extra="ignore")

    runner: Literal["calls", "tests"]
    done: bool
    late: bool
    exit_code: int | None
    signal: int | None
    cpu_s: float
    records: tuple[JobRecord, ...]


@dataclass(frozen=True, slots=True)
class RunReport:
    """The jobs' results, in their order up to the first that isn't done.

    `results` is None where nothing can be believed: the supervisor was stopped, or its report isn't
    there as it signed it. `exceeded` is the sandbox's limit that was the end.
    """

    results: tuple[JobResult, ...] | None
    exceeded: Literal["cpu", "wall", "memory", "output"] | None = None


_RESULTS: TypeAdapter[tuple[JobResult, ...]] = TypeAdapter(tuple[JobResult, ...])


async def run_jobs(
    texts: Mapping[str, str],
    jobs: Sequence[Calls | Tests],
    *,
    roots: Sequence[str] = ("",),
    memory_bytes: int = 512 * _MIB,
) -> RunReport:
    """Run jobs one after another, each in a process of its own and over a fresh copy of the files.

    The texts of tests are there only for the job that runs them.

    Args:
        texts: Files by their path.
        roots: Folders that modules are looked for in; "" is the top.

    Raises:
        GateError: The sandbox couldn't start the supervisor.
        InputError: A path isn't below the top, or the files are too large.
        SandboxError: There is no sandbox.
    """
    key = secrets.token_bytes(32)
    limits = _limits(jobs, memory_bytes)
    frames = [_frame(job, texts, roots, limits.disk_bytes) for job in jobs]
    runners: tuple[Runner, ...] = tuple(dict.fromkeys(job.runner for job in jobs))
    stdin = b"".join((*frames, _NO_MORE, key))
    return _report(await run_supervisor(runners, stdin, limits), key)


def canary() -> tuple[str, str]:
    """Return a test file's path and its text: tests that fail wherever pytest is left alone."""
    names = [f"test_{secrets.token_hex(4)}" for _ in range(5)]
    stem, *rest = names
    return f"{stem}.py", _CANARY.format(*rest)


_CANARY = """\
import unittest

import pytest


def {0}():
    assert [1] == [2]


def {1}():
    with pytest.raises(ValueError):
        pass


def {2}():
    assert 1.5 == pytest.approx(2.5)


class TestMore(unittest.TestCase):
    def {3}(self):
        self.assertEqual(1, 2)
"""


def _frame(job: Calls | Tests, texts: Mapping[str, str], roots: Sequence[str], room: int) -> bytes:
    """Return a job with the files that it begins with, as the supervisor reads it."""
    plain = {name: getattr(job, name) for name in type(job).__dataclass_fields__}
    every = dict(texts)
    if isinstance(job, Tests):
        every |= {path: text for path, (_, text) in job.test_files.items()}
    files = {path: _writable(text) for path, text in every.items()}
    refuse_files(files, sum(len(text.encode()) for text in files.values()), room)
    frame = json.dumps({"job": plain | {"roots": list(roots)}, "files": files}).encode()
    return len(frame).to_bytes(8, "big") + frame


def _limits(jobs: Sequence[Calls | Tests], memory_bytes: int) -> SandboxLimits:
    # The jobs' own limits come first: the supervisor can say what was running.
    cpu_s = sum(job.cpu_s for job in jobs) + 15
    wall_s = sum(job.wall_s for job in jobs) + 20.0
    return SandboxLimits(
        cpu_s=cpu_s, wall_s=wall_s, memory_bytes=memory_bytes, output_bytes=16 * _MIB
    )


def _writable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _report(result: ProgramResult, key: bytes) -> RunReport:
    if not result.stdout.startswith(_READY):
        if result.exceeded is not None:
            return RunReport(None, result.exceeded)
        raise GateError(
            f"The tests' supervisor didn't start: {result.stderr[-300:].strip()}",
            "Check that pytest is installed with this package.",
        )
    mac, _, body = result.stdout.removeprefix(_READY).partition("\n")
    body = body.removesuffix("\n")
    signed = hmac.new(key, body.encode(), "sha256").hexdigest()
    if not hmac.compare_digest(mac.encode(), signed.encode()):
        return RunReport(None, result.exceeded)
    try:
        # What a test says may have a name of a file that is not UTF-8.
        records = without_surrogates(json.loads(body))
        return RunReport(_RESULTS.validate_python(records), result.exceeded)
    except (ValidationError, ValueError, RecursionError):
        # The jobs' processes reported something else than records.
        return RunReport(None, result.exceeded)
