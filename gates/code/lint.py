"""The `lint` gate: Python without the mistakes that can be seen without running it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ...errors import Category, GateError
from ...task_ir import OutputKind
from ..gate import Stage, Subject
from ..python.inspection import Facts, read
from ..result import Diagnostic, Finding, fault
from ..tool import TOO_DEEP, find_tool, gave_up, run_tool, tool_version
from .source import LANGUAGE, this_python, unreadable

__all__ = ["RULES", "Lint"]

RULES = ("E9", "F", "B006", "B008", "B012", "B015", "B018", "B020", "B023", "PLE", "W605")
"""ruff's rules for what is wrong, not for taste, which costs attempts and fixes nothing."""
_ALLOWED = ("F401", "F841")
"""An unused import or variable doesn't keep a program from being right."""
_SYNTAX = "invalid-syntax"
_MOST_DIAGNOSTICS = 5


@dataclass(frozen=True)
class Lint:
    """ruff check with rules for mistakes."""

    name: str = "lint"
    about: str = "Python without undefined names and other mistakes that ruff sees"
    kinds: frozenset[OutputKind] = frozenset({"python"})
    stage: Stage = "light"
    timeout_s: float = 60.0

    def version(self) -> str:
        rules = f"{','.join(RULES)} -{','.join(_ALLOWED)}"
        return f"{tool_version('ruff', 'ruff')} {rules} {LANGUAGE.rpartition('=')[2]}"

    async def check(self, subject: Subject) -> Finding:
        """Lint the artifact; names that the Python it was made from defines are known."""
        if wrong := unreadable(subject.artifact):
            return fault(Category.FORMAT, wrong)
        options = ["check", "--isolated", "--no-cache", "--output-format=json", "--quiet"]
        # A comment of a model's hides nothing.
        options += ["--ignore-noqa", LANGUAGE]
        rules = [f"--select={','.join(RULES)}", f"--ignore={','.join(_ALLOWED)}"]
        known = f"builtins={json.dumps(sorted(_defined(subject)))}"
        name = ("--config", known, "--stdin-filename", "artifact.py", "-")
        argv = [find_tool("ruff", "ruff"), *options, *rules, *name]
        output = await run_tool(argv, subject.artifact)
        if gave_up(output):
            return fault(Category.FORMAT, TOO_DEEP)
        if output.exit_code not in (0, 1):
            raise GateError(f"ruff ended with {output.exit_code}: {output.stderr[:300]}")
        problems: list[dict[str, Any]] = json.loads(output.stdout or "[]")
        if not problems:
            return Finding(status="passed")
        found = [
            Diagnostic(
                message=this_python(problem["message"]),
                line=problem["location"]["row"],
                column=problem["location"]["column"],
                code=problem["code"] or _SYNTAX,
            )
            for problem in problems
        ]
        not_parsed = any(problem["code"] in (None, _SYNTAX) for problem in problems)
        category = Category.FORMAT if not_parsed else Category.CODE
        return fault(category, *found[:_MOST_DIAGNOSTICS])


def _defined(subject: Subject) -> set[str]:
    """Names that the unit gate puts within reach of tests that don't import them."""
    texts = [output.text for output in subject.upstream if output.kind == "python"]
    facts = [read(text) for text in texts]
    return {name for fact in facts if isinstance(fact, Facts) for name in fact.lines}
