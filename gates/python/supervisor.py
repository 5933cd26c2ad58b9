"""Have the sandbox's supervisor run jobs: one that was started ahead where one waits."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ..sandbox import (
    Program,
    ProgramResult,
    SandboxLimits,
    current_policy,
    kept_ready,
    run,
    run_kept,
)
from ..sandbox.visible_files import package_folders

__all__ = ["Runner", "run_supervisor", "supervisor_ready"]

Runner = Literal["calls", "tests"]

_GUEST = Path(__file__).parents[1] / "sandbox" / "guest"
_FOLDER = "code"
_ALL: tuple[Runner, ...] = ("calls", "tests")
# What its own process may have; how much all may use together each use says.
_AHEAD = SandboxLimits(cpu_s=120, output_bytes=16 << 20)
# What a program can write to beside its work folder.
_FOLDERS = ("/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own


@contextmanager
def supervisor_ready() -> Generator[None]:
    """Have a supervisor wait for use, with pytest imported; each is used once."""
    if current_policy() != "strict":
        yield
        return
    with kept_ready(_program(_ALL, isolated=True, ahead=True), _AHEAD):
        yield


async def run_supervisor(
    runners: Sequence[Runner], stdin: bytes, limits: SandboxLimits
) -> ProgramResult:
    """Give a supervisor the jobs, which use these runners, and the key.

    Raises:
        SandboxError: There is no sandbox.
    """
    isolated = current_policy() == "strict"
    if isolated and limits.memory_bytes == _AHEAD.memory_bytes:
        result = await run_kept(_program(_ALL, isolated=True, ahead=True), _AHEAD, stdin, limits)
        if result is not None:
            return result
    return await run(_program(runners, isolated, stdin), limits)


def _program(
    runners: Sequence[Runner], isolated: bool, stdin: bytes = b"", *, ahead: bool = False
) -> Program:
    setup = {
        "folder": _FOLDER,
        "packages": package_folders(),
        "runners": runners,
        "ahead": ahead,
        "folders": _FOLDERS if isolated else (),
        "isolated": isolated,
    }
    names = ("supervisor", "job", "room", *(f"run_{runner}" for runner in runners))
    files = {f"{name}.py": (_GUEST / f"{name}.py").read_bytes() for name in names}
    # Without -P the folder of the files would be searched first; -S keeps `.pth` files and
    # `sitecustomize` from being run. Not -I: the seed of hashes is in the environment.
    argv = ("python", "-P", "-s", "-S", "-B", "supervisor.py", json.dumps(setup))
    return Program(argv, files, stdin)
