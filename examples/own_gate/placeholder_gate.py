"""The `placeholders` gate: a text in which nothing is left to fill in."""

from __future__ import annotations

import re
from dataclasses import dataclass

from prefect_swarm.errors import Category
from prefect_swarm.gates import Diagnostic, Finding, Stage, Subject
from prefect_swarm.plan.task_ir import OutputKind

_PLACEHOLDER = re.compile(
    r"\bTODO\b|\bTBD\b|\bXXX\b|(?i:lorem ipsum)|\[(?i:insert|your|add|fill in)\b[^\]\n]*\]"
)
_MOST_DIAGNOSTICS = 5


@dataclass(frozen=True)
class Placeholders:
    """Looks at each line for what people put where something is still to come."""

    name: str = "placeholders"
    about: str = "a text without TODO, lorem ipsum or [insert …]"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 10.0

    def version(self) -> str:
        """Raise this with every change of what is found: known findings go by it."""
        return "1"

    async def check(self, subject: Subject) -> Finding:
        """Name each placeholder with its line."""
        found = [
            Diagnostic(
                message=f"{match[0]!r} is still to be filled in",
                line=number,
                column=match.start() + 1,
                code="placeholder",
            )
            for number, line in enumerate(subject.artifact.splitlines(), 1)
            for match in _PLACEHOLDER.finditer(line)
        ]
        if not found:
            return Finding(status="passed")
        return Finding(
            status="failed",
            category=Category.FORMAT,
            diagnostics=tuple(found[:_MOST_DIAGNOSTICS]),
        )
