"""The toolset `python`: code in the sandbox, with variables and files that stay between calls."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelResponse
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from ..gates.sandbox import Program, ProgramResult, SandboxLimits, backend_kind, current_policy, run
from ..gates.sandbox.confinement import package_folders
from ..inputs.contents import size
from ..quoting import PromptPart, Quote, with_quotes
from ..text import clean, one_line, whole_characters
from .catalogue import Toolset, ToolsetUse, marked
from .python_job import (
    LIMITS,
    CallHistory,
    CallOutcome,
    KeptState,
    input_paths,
    outcome_of,
    program_of,
)

__all__ = ["PythonSource", "call_text"]


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
            return await calls.make(_key(context, code), code)

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
        self._kept = CallHistory(use)
        self._limits = limits
        self._lock = asyncio.Lock()

    async def make(self, key: str, code: str) -> str:
        """Return what a model reads of a call; if it is over already, what it read then."""
        async with self._lock:
            if (answer := await asyncio.to_thread(self._kept.answer, key)) is not None:
                return answer
            before = await asyncio.to_thread(self._kept.current)
            result = await run(self._program(code, before), self._limits)
            outcome = outcome_of(result)
            answer = call_text(result, outcome, self._limits, before.files)
            after = None if outcome.finished is None else (outcome.state, outcome.files)
            await _to_its_end(asyncio.to_thread(self._kept.add, key, answer, after))
            return answer

    def _program(self, code: str, before: KeptState) -> Program:
        return program_of(
            code,
            before.number,
            state=before.state,
            files=before.files,
            inputs=self.inputs,
            packages=package_folders(),
        )


async def _to_its_end(writing: Coroutine[Any, Any, None]) -> None:
    """Wait for what must not be left half done, even by who is cancelled meanwhile."""
    task = asyncio.ensure_future(writing)
    try:
        await asyncio.shield(task)
    finally:
        await asyncio.wait({task})


def _key(context: RunContext[Any], code: str) -> str:
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
