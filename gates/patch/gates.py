"""The gates of a patch: it applies, holds no secret, keeps the tests and passes the checks."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from ...errors import Category, GateError
from ...plan.output import Output, OutputKind
from ...workspace.git import git_version
from ...workspace.names import is_test, is_within, path_problem
from ...workspace.repository import LARGEST_FILE, Entry, FileChange, PatchError, Repository
from ..base import Diagnostic, Finding, Stage, Subject, fault
from ..sandbox import backend_kind, current_policy
from .check_report import regressions
from .execution import CommandResult
from .judging import JudgedPatch, checked, judged, place_of, run_tool_over
from .kept_tests import is_check_configuration, weakened_tests
from .project_tools import CONFIGURATIONS, ProjectTool, ToolUse, findings_of, new_findings, tool_for
from .secrets import secrets_in

__all__ = [
    "PROJECT_TOOLS",
    "KeptTests",
    "PatchApplies",
    "PatchSecrets",
    "ProjectChecks",
    "ProjectTools",
]

_PATCH: frozenset[OutputKind] = frozenset({"patch"})
_MOST = 20
_BINARY_BYTES = 512 << 10
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe")
_RULES = "1"


def _git() -> str:
    return f"{_RULES}, git {'.'.join(map(str, git_version()))}"


@dataclass(frozen=True, kw_only=True)
class _PatchGate(ABC):
    """A gate that judges a patch which applies; one that doesn't fails on its FORMAT."""

    name: str
    about: str
    kinds: frozenset[OutputKind] = _PATCH
    stage: Stage = "light"
    timeout_s: float = 60.0

    def version(self) -> str:
        return _git()

    async def check(self, subject: Subject) -> Finding:
        """Apply the patch to what its step starts from, and judge what that comes to."""
        try:
            patch = await asyncio.to_thread(judged, subject)
        except PatchError as error:
            return fault(Category.FORMAT, error.problem)
        return await self.judge(patch, subject.output)

    @abstractmethod
    async def judge(self, patch: JudgedPatch, output: Output) -> Finding:
        """Judge a patch, by what the step has to produce."""


@dataclass(frozen=True, kw_only=True)
class PatchApplies(_PatchGate):
    """git applies it, and it changes only what it may."""

    name: str = "applies"
    about: str = "a patch that applies, and changes only files that it may change"

    async def check(self, subject: Subject) -> Finding:
        """Say of an empty patch what is wrong with it, which git doesn't."""
        if not subject.artifact.strip():
            return fault(Category.LOGIC, "It changes nothing.")
        return await super().check(subject)

    async def judge(self, patch: JudgedPatch, output: Output) -> Finding:
        """Look at each file that the patch changes."""
        return await asyncio.to_thread(_within_bounds, patch, output)


def _within_bounds(patch: JudgedPatch, output: Output) -> Finding:
    if not patch.changes:
        return fault(Category.LOGIC, "It changes nothing.")
    problems = [
        Diagnostic(message=f"{change.path}: {problem}")
        for change in patch.changes
        if (problem := _problem_of(patch.repository, change, output))
    ]
    new = [change.path for change in patch.changes if change.before is None]
    ignored = patch.repository.ignored(patch.after, new)
    problems += [Diagnostic(message=f"{path}: git ignores it") for path in sorted(ignored)]
    return _finding(Category.LOGIC, problems)


def _finding(category: Category, found: Sequence[Diagnostic]) -> Finding:
    return fault(category, *found[:_MOST]) if found else Finding(status="passed")


def _problem_of(repository: Repository, change: FileChange, output: Output) -> str:
    """Say why a patch may not change a file so; "" if it may."""
    if problem := path_problem(change.path):
        return problem
    if output.only and not is_within(change.path, (*output.only, *output.may_change)):
        return f"the patch may only change {', '.join(output.only)}"
    if "submodule" in [each.kind for each in (change.before, change.after) if each]:
        return "a submodule may not be changed"
    return _content_problem(repository, change.after) if change.after else ""


def _content_problem(repository: Repository, entry: Entry) -> str:
    data = repository.data(entry)
    if entry.kind == "link":
        target = data.decode("utf-8", "replace")
        leads_out = _leads_out(target, entry.path.count("/"))
        return f"a link that leads out of the workspace, to {target[:100]}" if leads_out else ""
    if len(data) > LARGEST_FILE:
        return f"it has over {LARGEST_FILE:,} bytes"
    if b"\0" not in data:
        return ""
    if entry.kind == "executable" or data.startswith(_PROGRAMS):
        return "a program that nobody can read"
    return f"a binary file of over {_BINARY_BYTES:,} bytes" if len(data) > _BINARY_BYTES else ""


def _leads_out(target: str, depth: int) -> bool:
    """Whether a link so far below the workspace may lead out of it.

    Behind a name, which may be a link itself, nobody knows what `..` leads to.
    """
    parts = [part for part in target.split("/") if part not in ("", ".")]
    ups = len(parts) - len([*dropwhile(lambda part: part == "..", parts)])
    return target.startswith("/") or ups > depth or ".." in parts[ups:]


@dataclass(frozen=True, kw_only=True)
class PatchSecrets(_PatchGate):
    """What it adds holds no key and no password."""

    name: str = "secrets"
    about: str = "a patch that adds no key, token or password"

    async def judge(self, patch: JudgedPatch, output: Output) -> Finding:  # noqa: ARG002 - as the other gates
        """Look at the lines that the patch adds."""
        found = await asyncio.to_thread(lambda: secrets_in(dict(_added(patch))))
        return _finding(Category.LOGIC, found)


def _added(patch: JudgedPatch) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    for change in patch.changes:
        before, after = _text(patch, change.before), _text(patch, change.after)
        known = set(before.splitlines())
        lines = [
            (number, line) for number, line in enumerate(after.splitlines(), 1) if line not in known
        ]
        if lines:
            yield change.path, lines


def _text(patch: JudgedPatch, entry: Entry | None) -> str:
    data = _data(patch, entry)
    return "" if data is None or b"\0" in data else data.decode("utf-8", "replace")


def _data(patch: JudgedPatch, entry: Entry | None) -> bytes | None:
    return None if entry is None or entry.kind == "submodule" else patch.repository.data(entry)


@dataclass(frozen=True, kw_only=True)
class KeptTests(_PatchGate):
    """Tests that there were are there, and ask what they asked."""

    name: str = "tests-kept"
    about: str = "a patch that changes, skips, weakens and deletes no test that there was"
    timeout_s: float = 120.0

    async def judge(self, patch: JudgedPatch, output: Output) -> Finding:
        """Compare the tests, and what configures the checks, before and after."""
        before, after = await asyncio.to_thread(_compared, patch)
        found = await asyncio.to_thread(weakened_tests, before, after, output.may_change)
        return _finding(Category.LOGIC, found)


def _compared(patch: JudgedPatch) -> tuple[dict[str, bytes], dict[str, bytes | None]]:
    paths = {change.path for change in patch.changes}
    before = {
        path: patch.repository.data(entry)
        for path, entry in patch.repository.entries(patch.before).items()
        if entry.kind in ("file", "executable")
        and (path in paths or ((is_test(path) or is_check_configuration(path)) and _is_code(entry)))
    }
    return before, {change.path: _data(patch, change.after) for change in patch.changes}


def _is_code(entry: Entry) -> bool:
    """Whether other tests may depend on what it says; data is compared only where it is changed."""
    return entry.size < 1 << 20 and entry.path.endswith((".py", ".toml", ".cfg", ".ini"))


@dataclass(frozen=True, kw_only=True)
class ProjectChecks(_PatchGate):
    """The user's own commands pass as they do without it."""

    name: str = "check"
    about: str = "the commands of --check pass as they do without the patch"
    stage: Stage = "unit"
    timeout_s: float = 1500.0

    def version(self) -> str:
        return _sandboxed()

    async def check(self, subject: Subject) -> Finding:
        """Skip it where there are no checks."""
        if not place_of(subject).checks:
            return Finding(status="skipped")
        return await super().check(subject)

    async def judge(self, patch: JudgedPatch, output: Output) -> Finding:
        """Run the checks without the patch, unless that was done, and with it."""
        place = patch.place
        before = await checked(patch.repository, place, patch.before)
        if ended := next((each.ended for each in before if each.ended), ""):
            raise GateError(
                f"The checks are not completed without the patch: {ended}",
                "Give quicker or smaller --check.",
            )
        after = await checked(patch.repository, place, patch.after)
        found = await asyncio.to_thread(
            lambda: [
                problem
                for command, old, new in zip(place.checks, before, after, strict=True)
                for problem in regressions(command, old, new, output.may_change)
            ]
        )
        return _finding(Category.CODE, found)


def _sandboxed() -> str:
    kind = "limits-only" if current_policy() == "limits-only" else backend_kind()
    return f"{_git()}, sandbox {kind}"


@dataclass(frozen=True, kw_only=True)
class ProjectTools(_PatchGate):
    """The project's own formatter, linter or type checker finds nothing new."""

    use: ToolUse
    timeout_s: float = 600.0

    def version(self) -> str:
        return _sandboxed()

    async def judge(self, patch: JudgedPatch, output: Output) -> Finding:  # noqa: ARG002 - as the other gates
        """Have the tool look at the files of Python that the patch changes, before and after."""
        return await _check_with_tool(self.use, patch)


PROJECT_TOOLS = (
    ProjectTools(
        use="format",
        name="project-format",
        about="a patch whose Python is formatted as the project's",
    ),
    ProjectTools(
        use="lint",
        name="project-lint",
        about="a patch in which the project's linter finds nothing new",
    ),
    ProjectTools(
        use="typecheck",
        name="project-types",
        about="a patch in which its type checker finds nothing new",
    ),
)
"""A gate for each tool that a project may have."""


async def _check_with_tool(use: ToolUse, patch: JudgedPatch) -> Finding:
    """Return what a project's own tool newly finds in the files of Python that a patch changes."""
    paths = patch.python_files
    configurations = await asyncio.to_thread(_configurations, patch)
    tool = tool_for(use, configurations)
    if tool is None or not paths:
        return Finding(status="skipped")
    after = await _called(patch, patch.after, tool, paths)
    if after.exit_code == 0:
        return Finding(status="passed")
    if after.exit_code == _NOT_FOUND:
        return _skipped(f"{tool.name} isn't in the project's environment; see --python")
    there = {change.path for change in patch.changes if change.before}
    before = await _called(patch, patch.before, tool, [path for path in paths if path in there])
    if before.exit_code not in _JUDGED:
        return _skipped(f"{tool.name} fails without the patch: {before.output[-_SAID:].strip()}")
    if after.exit_code not in _JUDGED:
        said = f"{tool.name} ends with {after.exit_code}: {after.output[-_SAID:].strip()}"
        return fault(Category.FORMAT, said)
    folder = patch.place.folder
    findings = findings_of(after.output, folder)
    if not findings:
        # Another version may say it in words that nobody knows here: that is no pass.
        said = after.output[-_SAID:].strip()
        return _skipped(f"{tool.name} says nothing that can be read: {said}")
    found = new_findings(findings_of(before.output, folder), findings)
    return fault(Category.CODE, *found) if found else Finding(status="passed")


def _skipped(why: str) -> Finding:
    return Finding(status="skipped", diagnostics=(Diagnostic(message=why),))


def _configurations(patch: JudgedPatch) -> dict[str, bytes]:
    entries = patch.repository.entries(patch.before, CONFIGURATIONS)
    return {path: patch.repository.data(entry) for path, entry in entries.items()}


_NOT_FOUND = 127
_JUDGED = (0, 1)
"""How tools end that have judged: all is well, or there are findings."""
_SAID = 300


async def _called(
    patch: JudgedPatch, tree: str, tool: ProjectTool, paths: Sequence[str]
) -> CommandResult:
    """Have a tool look at some files of a tree."""
    if not paths:
        return CommandResult(exit_code=0)
    command = tool.command(paths)
    (result,) = await run_tool_over(patch.repository, patch.place, tree, [command])
    return result
