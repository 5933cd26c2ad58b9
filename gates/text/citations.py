"""The `citations` gate: what a text cites is among what it was given to read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import Category
from ...task_ir import OutputKind
from ..gate import Stage, Subject
from ..result import Diagnostic, Finding, fault

__all__ = ["Citations"]

_CITED = re.compile(r"\[([^\[\]\n]{1,80})\](?!\()")
"""`[S1]`, `[S1, S3]`, `[notes.txt]`; a Markdown link is none."""


@dataclass(frozen=True)
class Citations:
    """At least one citation, and none of anything that isn't there."""

    name: str = "citations"
    about: str = "a text that cites, and only steps and inputs that it has read"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return "1"

    async def check(self, subject: Subject) -> Finding:
        """Look up every name in square brackets among the names of what the step has read."""
        names = {output.name.casefold() for output in subject.upstream}
        if not names:
            return Finding(status="skipped")
        found: list[Diagnostic] = []
        cited = 0
        for number, line in enumerate(subject.artifact.splitlines(), 1):
            for match in _CITED.finditer(line):
                for name in map(str.strip, match[1].split(",")):
                    cited += 1
                    if name.casefold() not in names:
                        message = f"[{name}] is none of what there was to read"
                        found.append(
                            Diagnostic(message=message, line=number, column=match.start() + 1)
                        )
        if found:
            return fault(Category.LOGIC, *found[:5])
        if not cited:
            names = ", ".join(f"[{output.name}]" for output in subject.upstream[:5])
            return fault(Category.FORMAT, f"cite what you read, as {names}")
        return Finding(status="passed")
