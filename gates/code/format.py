"""The `format` gate: code that parses, laid out as its formatter does it. It repairs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import Category, GateError
from ...task_ir import OutputKind
from ..gate import Stage, Subject
from ..result import Diagnostic, Finding, fault
from ..tool import TOO_DEEP, find_tool, gave_up, run_tool, tool_version
from .source import NO_COMMAND, unreadable, without_command

__all__ = ["Format"]

_TOOLS = {"python": ("ruff", "ruff"), "shell": ("shfmt", "shfmt-py")}
_PLACES = (
    re.compile(
        r"error: Failed to parse .{0,200}?(?P<line>\d{1,9}):(?P<column>\d{1,9}): (?P<message>.*)"
    ),
    re.compile(r"<standard input>:(?P<line>\d{1,9}):(?P<column>\d{1,9}): (?P<message>.*)"),
)


@dataclass(frozen=True)
class Format:
    """ruff format for Python, shfmt for shell."""

    name: str = "format"
    about: str = "code that parses; repaired to the layout of ruff format or shfmt"
    kinds: frozenset[OutputKind] = frozenset({"python", "shell"})
    stage: Stage = "repair"
    timeout_s: float = 30.0

    def version(self) -> str:
        return ", ".join(tool_version(*tool) for tool in _TOOLS.values())

    async def check(self, subject: Subject) -> Finding:
        """Format the artifact; what can't be parsed, or has nothing in it, fails on its format."""
        if nothing := _nothing(subject):
            return fault(Category.FORMAT, nothing)
        tool, package = _TOOLS[subject.output.kind]
        output = await run_tool(
            [find_tool(tool, package), *_options(tool, subject)], subject.artifact
        )
        if output.exit_code == 0:
            same = output.stdout == subject.artifact
            return Finding(status="passed", repaired=None if same else output.stdout)
        if gave_up(output):
            return fault(Category.FORMAT, TOO_DEEP)
        for place in _PLACES:
            if match := place.search(output.stderr):
                line, column = int(match["line"]), int(match["column"])
                found = Diagnostic(message=match["message"].strip(), line=line, column=column)
                return fault(Category.FORMAT, found)
        raise GateError(f"{tool} ended with {output.exit_code}: {output.stderr[:300]}")


def _nothing(subject: Subject) -> str:
    if subject.output.kind == "shell":
        return NO_COMMAND if without_command(subject.artifact) else ""
    return unreadable(subject.artifact)


def _options(tool: str, subject: Subject) -> Sequence[str]:
    if tool == "ruff":
        return ("format", "--isolated", "--no-cache", "--stdin-filename", "artifact.py", "-")
    dialect = "posix" if re.match(r"#!\s*(/usr)?/bin/(dash|sh)\b", subject.artifact) else "bash"
    return ("-i", "2", "-ln", dialect)
