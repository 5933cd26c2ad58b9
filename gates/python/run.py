"""Run Python that a model wrote, in the sandbox, and take what came of it from a signed report."""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ...errors import GateError
from ..sandbox import Ended, Limits, Program, run
from ..sandbox.visible_files import package_folders

__all__ = ["Act", "Calls", "Raised", "Record", "Report", "Tests", "canary", "run_acts"]

_FOLDER = "code"
_READY = "ready\n"
_MIB = 1 << 20
_SUPERVISOR = "supervisor"


@dataclass(frozen=True, slots=True)
class Calls:
    """Import `modules`, then evaluate `calls` over the names of the last one."""

    modules: tuple[str, ...]
    calls: tuple[str, ...] = ()
    cpu_s: int = 10
    wall_s: float = 30.0
    doer: Literal["calls"] = "calls"


@dataclass(frozen=True, slots=True)
class Tests:
    """Run the tests of `held` files: the module's name and the text by the path."""

    __test__ = False

    held: Mapping[str, tuple[str, str]]
    cpu_s: int = 30
    wall_s: float = 60.0
    doer: Literal["tests"] = "tests"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Raised(_Frozen):
    """An exception: its name, its message, and its way through the files, as (path, line)."""

    name: str
    message: str = ""
    frames: tuple[tuple[str, int], ...] = ()


class Record(_Frozen):
    """One thing that an act's process said; `run_calls` and `run_tests` have them all."""

    starts: str | None = None
    module: str | None = None
    call: int | None = None
    gave: Any = None
    test: str | None = None
    outcome: Literal["passed", "failed", "skipped"] | None = None
    raised: Raised | None = None


class Act(_Frozen):
    """What came of an act; `done` is whether its process said and did all that it had to.

    `late` is whether it had to be killed at the end of its time.
    """

    doer: Literal["calls", "tests"]
    done: bool
    late: bool
    exit_code: int | None
    signal: int | None
    cpu_s: float
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What came of the acts, in their order up to the first that isn't done.

    `acts` is None where nothing can be believed: the supervisor was stopped, or its report isn't
    there as it signed it. `exceeded` is the sandbox's limit that was the end.
    """

    acts: tuple[Act, ...] | None
    exceeded: Literal["cpu", "wall", "memory", "output"] | None = None


_ACTS: TypeAdapter[tuple[Act, ...]] = TypeAdapter(tuple[Act, ...])


async def run_acts(
    texts: Mapping[str, str],
    acts: Sequence[Calls | Tests],
    *,
    roots: Sequence[str] = ("",),
    memory_bytes: int = 512 * _MIB,
) -> Report:
    """Run acts one after another over the same files, each in a process of its own.

    Args:
        texts: Files by their path.
        roots: Folders that modules are looked for in; "" is the top.

    Raises:
        GateError: The sandbox couldn't start the supervisor.
        SandboxError: There is no sandbox.
    """
    key = secrets.token_bytes(32)
    doers = list(dict.fromkeys(act.doer for act in acts))
    job = {
        "folder": _FOLDER,
        "packages": package_folders(),
        "doers": doers,
        "acts": [_plain(act, roots) for act in acts],
    }
    files = {f"{_FOLDER}/{path}": _encoded(text) for path, text in texts.items()}
    files |= {f"{name}.py": _inside(name) for name in (_SUPERVISOR, *(f"run_{d}" for d in doers))}
    files["job.json"] = json.dumps(job).encode()
    # Without -P the folder of the files would be searched first; -S keeps `.pth` files and
    # `sitecustomize` from being run. Not -I: the seed of hashes is in the environment.
    argv = ("python", "-P", "-s", "-S", "-B", f"{_SUPERVISOR}.py")
    ended = await run(Program(argv, files, stdin=key), _limits(acts, memory_bytes))
    return _report(ended, key)


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


def _plain(act: Calls | Tests, roots: Sequence[str]) -> dict[str, Any]:
    plain = {name: getattr(act, name) for name in type(act).__dataclass_fields__}
    return plain | {"roots": list(roots)}


def _limits(acts: Sequence[Calls | Tests], memory_bytes: int) -> Limits:
    # The acts' own limits come first: the supervisor can say what was running.
    cpu_s = sum(act.cpu_s for act in acts) + 15
    wall_s = sum(act.wall_s for act in acts) + 20.0
    return Limits(cpu_s=cpu_s, wall_s=wall_s, memory_bytes=memory_bytes, output_bytes=16 * _MIB)


def _inside(name: str) -> bytes:
    return (Path(__file__).parents[1] / "sandbox" / "guest" / f"{name}.py").read_bytes()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _report(ended: Ended, key: bytes) -> Report:
    if not ended.stdout.startswith(_READY):
        if ended.exceeded is not None:
            return Report(None, ended.exceeded)
        raise GateError(
            f"The tests' supervisor didn't start: {ended.stderr[-300:].strip()}",
            "Check that pytest is installed beside this package.",
        )
    mac, _, body = ended.stdout.removeprefix(_READY).partition("\n")
    body = body.removesuffix("\n")
    signed = hmac.new(key, body.encode(), "sha256").hexdigest()
    if not hmac.compare_digest(mac.encode(), signed.encode()):
        return Report(None, ended.exceeded)
    try:
        return Report(_ACTS.validate_json(body), ended.exceeded)
    except ValidationError:
        # What the acts' processes said isn't what they say.
        return Report(None, ended.exceeded)
