"""What some gates found, in a few words for a task run's state. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..gates import GateResult, format_diagnostics, gate_name
from ..result import excerpt

__all__ = ["summary"]


def summary(results: Sequence[GateResult], asked: Sequence[str]) -> str:
    """Say how many gates passed, and what the others found.

    Args:
        results: Of the gates that had a look.
        asked: The names of all gates; those behind a failure never had a look.
    """
    if len(asked) == 1:
        return "; ".join(f"{result.gate} {_words(result)}" for result in results)
    stopped = [result for result in results if result.stops]
    if stopped:
        found = "; ".join(f"{result.gate}: {_found(result)}" for result in stopped)
        parts = [f"{len(stopped)} of {len(asked)} gates failed: {found}"]
    else:
        passed = sum(result.status == "passed" for result in results)
        parts = [f"{passed} of {len(asked)} gates passed"]
    parts += [f"{result.gate} {_words(result)}" for result in results if _is_worth_a_word(result)]
    seen = {result.gate for result in results}
    left = [name for name in map(gate_name, asked) if name not in seen]
    return ". ".join([*parts, f"Not asked: {', '.join(left)}"] if left else parts)


def _is_worth_a_word(result: GateResult) -> bool:
    return not result.stops and (result.status != "passed" or bool(result.diff))


def _words(result: GateResult) -> str:
    if result.status == "passed" and result.diff:
        changed = sum(line.startswith(("+", "-")) for line in result.diff.splitlines()[2:])
        return f"passed after a repair, a diff of {changed} lines"
    broke = result.status in ("failed", "error")
    optional = " (optional)" if broke and not result.required else ""
    found = _found(result)
    return f"{result.status}{optional}: {found}" if found else f"{result.status}{optional}"


def _found(result: GateResult) -> str:
    return excerpt(format_diagnostics(result.diagnostics))
