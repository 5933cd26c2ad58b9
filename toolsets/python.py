"""The toolset `python`: code in the sandbox, with variables and files that stay between calls.

A call's code is a program of the sandbox; what it leaves behind is bounded and untrusted.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import re
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import Field
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelResponse
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from ..data_types import Frozen
from ..gates.sandbox import Program, ProgramResult, SandboxLimits, backend_kind, current_policy, run
from ..gates.sandbox.confinement import package_folders
from ..gates.sandbox.launcher.wire import unpack_from
from ..inputs.contents import size
from ..inputs.pictures import picture_of, without_pictures
from ..quoting import PromptPart, Quote, with_quotes
from ..text import clean, one_line, whole_characters
from .catalogue import Toolset, ToolsetUse, marked

__all__ = [
    "LIMITS",
    "MOST_FILES",
    "CallHistory",
    "CallOutcome",
    "Finished",
    "PythonSource",
    "StoredState",
    "call_key",
    "call_text",
    "file_name_problem",
    "input_paths",
    "outcome_of",
    "program_of",
    "to_its_end",
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
_GUEST = Path(__file__).with_name("python_guest.py")
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
        **{f"work/{path}": _data(text) for path, text in inputs.items()},
    }
    if state:
        given[_STATE] = state
    # Without -P the folder of the files would be searched first; -S keeps `.pth` files and
    # `sitecustomize` from being run.
    argv = ("python", "-P", "-s", "-S", "-B", "guest.py")
    return Program(argv, given, keep=(_RESULT,))


def _data(text: str) -> bytes:
    """Return what a file holds: a picture's own data, and of a text with some their labels."""
    picture = picture_of(text)
    return without_pictures(text).encode() if picture is None else picture.data


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
    wrong |= dict.fromkeys(folders & files.keys(), "both a file and a folder")
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


class _Calls(Frozen):
    """The calls that are over.

    Attributes:
        answers: What the model read of each, by what tells it from the others.
        state: Where the variables are; "" for none.
        files: Where the files are, by their paths.
    """

    answers: dict[str, str] = Field(default_factory=dict)
    state: str = ""
    files: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredState:
    """What a call begins with, and its number, from 1."""

    number: int
    state: bytes
    files: Mapping[str, bytes]


class CallHistory:
    """The calls of an attempt, made one after another."""

    def __init__(self, use: ToolsetUse) -> None:
        """Take the attempt; nothing is read yet."""
        self._use = use
        own = f"{use.attempt}-{use.conversation}" if use.conversation else use.attempt
        self._name = own

    def answer(self, key: str) -> str | None:
        """Return what the model read of a call that is over; None if it isn't.

        Raises:
            RunDamagedError: What was written can't be read.
            StorageError: Its files can't be written where people look for them.
        """
        calls = self._calls()
        if (found := calls.answers.get(key)) is not None:
            # The process may have been killed before they were.
            self._show(self._files(calls))
        return found

    def current(self) -> StoredState:
        """Return what the next call begins with.

        Raises:
            RunDamagedError: What was written can't be read.
        """
        calls = self._calls()
        state = self._use.run.tool_blob(self._name, calls.state) if calls.state else b""
        return StoredState(len(calls.answers) + 1, state, self._files(calls))

    def add(self, key: str, answer: str, after: tuple[bytes, Mapping[str, bytes]] | None) -> None:
        """Write down a call that has come to its end.

        Args:
            key: What tells it from others.
            answer: What the model reads of it.
            after: The variables and files that it left; None leaves those of before.

        Raises:
            StorageError: It can't be written; the call is as if it hadn't been.
        """
        run, calls = self._use.run, self._calls()
        answers = {**calls.answers, key: answer}
        if after is None:
            kept = calls.model_copy(update={"answers": answers})
            run.write_tool_state(self._name, kept)
            return
        state, files = after
        named = {path: _digest(data) for path, data in files.items()}
        own = _digest(state) if state else ""
        blobs = {_digest(data): data for data in (*files.values(), *([state] if state else []))}
        kept = _Calls(answers=answers, state=own, files=named)
        run.write_tool_state(self._name, kept, blobs)
        self._show(files)

    def _show(self, files: Mapping[str, bytes]) -> None:
        self._use.run.write_artifacts(self._use.step, self._use.attempt, files)

    def _calls(self) -> _Calls:
        return self._use.run.tool_state(self._name, _Calls) or _Calls()

    def _files(self, calls: _Calls) -> dict[str, bytes]:
        return {
            path: self._use.run.tool_blob(self._name, name) for path, name in calls.files.items()
        }


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


_PRINTED = 9000
_COMPLAINED = 3000
_VALUE = 4000
_ERROR = 3000
_NAMED = 20
_BEFORE = "Variables and files are as they were before this call."


def call_text(
    result: ProgramResult,
    outcome: CallOutcome,
    limits: SandboxLimits,
    files_before: Mapping[str, bytes],
) -> str:
    """Write what a call printed, its value, its error, and what it left.

    Args:
        result: How the program ended.
        outcome: What it left behind.
        limits: What it could use.
        files_before: The files that it began with.
    """
    printed = [
        *_quoted("", _cut(result.stdout, _PRINTED)),
        *_quoted("[stderr]", _cut(result.stderr, _COMPLAINED)),
    ]
    finished = outcome.finished
    if finished is None:
        return _joined([*printed, f"[ended] {_why(result, limits)} {_BEFORE}"])
    changed = [
        f"{name} ({size(len(data))})"
        for name, data in outcome.files.items()
        if files_before.get(name) != data
    ]
    return _joined(
        [
            *printed,
            *_quoted("[value]", _cut(finished.value or "", _VALUE)),
            *_quoted("[error]", _cut(finished.error, _ERROR)),
            *_quoted("[files]", _listed(changed)),
            *_quoted("[files not kept]", _reasons(finished.refused)),
            *_quoted("[not kept for the next call]", _reasons(finished.not_kept)),
        ]
    )


def _why(result: ProgramResult, limits: SandboxLimits) -> str:
    match result.exceeded:
        case "memory":
            return f"It took more than {size(limits.memory_bytes)} of memory."
        case "cpu":
            return f"It computed for more than {limits.cpu_s:g} s."
        case "wall":
            return f"It took more than {limits.wall_s:g} s."
        case "output":
            return f"It wrote more than {size(limits.output_bytes)}."
        case _ if result.signal is not None:
            return f"The interpreter was ended by signal {result.signal}."
        case _:
            return f"The interpreter ended itself, with exit code {result.exit_code}."


def _quoted(label: str, text: str) -> list[Quote]:
    """What the code, or what it has read, says: none of it can pass for another part."""
    # The system's names of files may be no UTF-8, which Python has as halves of characters.
    return [Quote(text=whole_characters(text), label=label)] if text else []


def _joined(parts: Sequence[PromptPart]) -> str:
    written = with_quotes(parts, explained=False)
    return "\n".join(written) or "[nothing printed, and no value]"


def _reasons(reasons: Mapping[str, str]) -> str:
    return _listed([f"{one_line(name)}: {one_line(why, 200)}" for name, why in reasons.items()])


def _listed(items: list[str]) -> str:
    more = [f"and {len(items) - _NAMED} more"] if len(items) > _NAMED else []
    return "\n".join([*items[:_NAMED], *more])


def _cut(text: str, most: int) -> str:
    """Leave out the middle of a long text: what went wrong is said at its end."""
    shown = clean(text.encode("utf-8", "replace").decode()).rstrip()
    if len(shown) <= most:
        return shown
    tail = most // 3
    left_out = len(shown) - most
    return f"{shown[: most - tail]}\n[… {left_out:,} characters …]\n{shown[-tail:]}"


_SHOWN = 20
_AROUND_S = 10.0
_COMPUTING = 0.8
_DESCRIPTION = """Run Python code and return what it prints, the value of its last expression, and \
its error. Variables, functions and files in the working folder are there in your next call. There \
is no network, and no other file of the machine."""


@dataclass(frozen=True, slots=True)
class PythonSource:
    """Python in the sandbox that the gates use. Where there is no sandbox, nothing runs.

    Attributes:
        limits: What a call may use.
    """

    limits: SandboxLimits = LIMITS
    name: str = "python"

    @property
    def about(self) -> str:
        """What plans are shown of it."""
        return "Runs Python code in a sandbox: computes, transforms data, makes files."

    @property
    def server(self) -> str:
        """Its own name."""
        return self.name

    @staticmethod
    def within(seconds: float) -> PythonSource:
        """Return the toolset for calls that may take so long, its own work around them included."""
        wall_s = max(1.0, seconds - _AROUND_S)
        return PythonSource(replace(LIMITS, wall_s=wall_s, cpu_s=max(1.0, wall_s * _COMPUTING)))

    def toolset(self, use: ToolsetUse) -> Toolset:
        """Return the tool of an attempt; entering it raises SandboxError if there is no sandbox."""
        return _PythonToolset(_PythonCalls(use, self.limits))


class _PythonToolset(FunctionToolset[None]):
    def __init__(self, calls: _PythonCalls) -> None:
        async def python(context: RunContext[None], code: str) -> str:
            """Run code.

            Args:
                context: The conversation.
                code: Python statements. End with an expression to see its value.
            """
            return await calls.make(call_key(context, code), code)

        # It changes nothing but what is kept under its own key, which counts once.
        tool = Tool(
            python,
            takes_ctx=True,
            description=_description(calls.inputs),
            sequential=True,
            metadata=marked(idempotent=True),
        )
        super().__init__([tool])

    async def __aenter__(self) -> _PythonToolset:
        if current_policy() == "strict":
            await asyncio.to_thread(backend_kind)
        await super().__aenter__()
        return self


class _PythonCalls:
    """Makes the calls of an attempt, one after another."""

    def __init__(self, use: ToolsetUse, limits: SandboxLimits) -> None:
        self.inputs = input_paths(use.texts)
        self._history = CallHistory(use)
        self._limits = limits
        self._lock = asyncio.Lock()

    async def make(self, key: str, code: str) -> str:
        """Return what a model reads of a call; if it is over already, what it read then."""
        async with self._lock:
            if (answer := await asyncio.to_thread(self._history.answer, key)) is not None:
                return answer
            before = await asyncio.to_thread(self._history.current)
            result = await run(self._program(code, before), self._limits)
            outcome = outcome_of(result)
            answer = call_text(result, outcome, self._limits, before.files)
            after = None if outcome.finished is None else (outcome.state, outcome.files)
            await to_its_end(asyncio.to_thread(self._history.add, key, answer, after))
            return answer

    def _program(self, code: str, before: StoredState) -> Program:
        return program_of(
            code,
            before.number,
            state=before.state,
            files=before.files,
            inputs=self.inputs,
            packages=package_folders(),
        )


async def to_its_end(writing: Coroutine[Any, Any, None]) -> None:
    """Wait for what must not be left half done, even by who is cancelled meanwhile."""
    task = asyncio.ensure_future(writing)
    try:
        await asyncio.shield(task)
    finally:
        await asyncio.wait({task})


def call_key(context: RunContext[Any], code: str) -> str:
    """Return what tells a call from others of its conversation, in each process that goes on."""
    answers = sum(isinstance(message, ModelResponse) for message in context.messages)
    hashed = hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{answers}.{context.tool_call_id or ''}.{hashed}"


def _description(paths: Iterable[str]) -> str:
    found = list(paths)
    if not found:
        return _DESCRIPTION
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    shown = ", ".join(one_line(path) for path in found[:_SHOWN])
    return f"{_DESCRIPTION} What you were given is in files: {shown}{more}."
