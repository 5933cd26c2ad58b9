"""What a model reads of a call of Python. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...gates.sandbox import ProgramResult, SandboxLimits
from ...inputs.limits import size
from ...quoting import PromptPart, Quote, with_quotes
from ...text import clean, one_line, whole_characters
from .job import CallOutcome

__all__ = ["call_text"]

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
