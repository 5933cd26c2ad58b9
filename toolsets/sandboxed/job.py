"""A call's code as a program of the sandbox, and what that leaves behind. Pure."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pydantic import Field

from ...frozen import Frozen
from ...gates.sandbox import Program, ProgramResult, SandboxLimits
from ...gates.sandbox.launcher.wire import unpack_from

__all__ = [
    "LIMITS",
    "MOST_FILES",
    "CallOutcome",
    "Finished",
    "file_name_problem",
    "input_paths",
    "outcome_of",
    "program_of",
]

_MIB = 1 << 20
LIMITS = SandboxLimits(
    cpu_s=40,
    wall_s=50.0,
    memory_bytes=1024 * _MIB,
    open_files=256,
    disk_bytes=96 * _MIB,
    output_bytes=_MIB,
)
"""What a call may take: seconds below those that a call of a tool has, so that it is this that
ends it, and the model hears of it."""
MOST_FILES = 64
_FILE_BYTES = 16 * _MIB
_STATE_BYTES = 16 * _MIB
_INPUT_BYTES = 16 * _MIB
_CHARACTERS = 50_000
_PATH_BYTES = 200
_DEPTH = 8
_RESULT, _STATE = "result", "state.pickle"
_MALFORMED = (EOFError, KeyError, TypeError, ValueError, OverflowError, RecursionError)
_GUEST = Path(__file__).with_name("guest.py")
_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


class Finished(Frozen):
    """What code that came to its end hands back; the code itself may have forged it.

    Attributes:
        value: How its last expression looks; None if it has none.
        error: The traceback; "" if nothing was raised.
        not_kept: Variables that the next call won't have, and why.
        files: Paths of the files that it left.
        refused: Files that are not kept, and why.
    """

    value: str | None = None
    error: str = ""
    not_kept: dict[str, str] = Field(default_factory=dict)
    files: tuple[str, ...] = ()
    refused: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended, and what the next begins with; `finished` is None if it was ended."""

    finished: Finished | None
    state: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def program_of(
    code: str,
    number: int,
    *,
    state: bytes,
    files: Mapping[str, bytes],
    inputs: Mapping[str, str],
    packages: Iterable[str],
) -> Program:
    """Return the program that runs a call's code.

    Args:
        code: What the model wrote.
        number: Of the call among those of its attempt, from 1.
        state: The variables as the call before it left them; b"" for none.
        files: The files that the calls before it left.
        inputs: Texts of the step by their paths, which `input_paths` makes.
        packages: Folders of packages that it may import.
    """
    job = {
        "code": code,
        "label": f"<call {number}>",
        "packages": [*packages],
        "characters": _CHARACTERS,
        "state_bytes": _STATE_BYTES,
        "files": MOST_FILES,
        "file_bytes": _FILE_BYTES,
    }
    given = {
        "guest.py": _GUEST.read_bytes(),
        "job.json": json.dumps(job).encode(),
        **{f"work/{path}": data for path, data in files.items()},
        **{f"work/{path}": text.encode() for path, text in inputs.items()},
    }
    if state:
        given[_STATE] = state
    # Without -P the folder of the files would be searched first; -S keeps `.pth` files and
    # `sitecustomize` from being run.
    argv = ("python", "-P", "-s", "-S", "-B", "guest.py")
    return Program(argv, given, keep=(_RESULT,))


def input_paths(texts: Mapping[str, str]) -> dict[str, str]:
    """Return texts by paths below `inputs`, as long as there is room; names become safe."""
    found: dict[str, str] = {}
    room = _INPUT_BYTES
    for name, text in texts.items():
        room -= len(text.encode("utf-8", "replace"))
        if room < 0:
            break
        plain = re.sub(r"[^\w.() -]+", "_", name).strip(". ")[:80] or "input"
        path, number = f"inputs/{plain}", 2
        while path in found:
            path, number = f"inputs/{plain}-{number}", number + 1
        found[path] = text.encode("utf-8", "replace").decode()
    return found


def outcome_of(result: ProgramResult) -> CallOutcome:
    """Return what a program that ran a call's code left behind, as far as that is as it must be."""
    try:
        header, blobs = unpack_from(io.BytesIO(result.files[_RESULT]).read)
        finished = Finished.model_validate(header)
        state, *contents = blobs
        files = dict(zip(finished.files, contents, strict=True))
    except _MALFORMED:
        return CallOutcome(None)
    folders = {str(parent) for name in files for parent in PurePosixPath(name).parents}
    wrong = {name: problem for name in files if (problem := file_name_problem(name))}
    wrong |= dict.fromkeys(folders & files.keys(), "a file and a folder at once")
    kept = {name: data for name, data in files.items() if name not in wrong}
    if len(kept) > MOST_FILES or sum(map(len, kept.values())) > _FILE_BYTES:
        return CallOutcome(None)
    if len(state) > _STATE_BYTES:
        return CallOutcome(None)
    refused = {**finished.refused, **wrong}
    changes = {"files": tuple(kept), "refused": refused}
    return CallOutcome(finished.model_copy(update=changes), state, kept)


def file_name_problem(path: str) -> str:
    """Say why a file that code left can't be kept under its path; "" if it can."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or part.startswith(".") for part in parts):
        return "hidden, or not in the folder"
    if _UNSAFE.search(path):
        return "a character in its name that can't be shown"
    if len(path.encode()) > _PATH_BYTES or len(parts) > _DEPTH:
        return "its path is too long"
    return ""
