"""The gates `unit` and `integration`: Python held against its examples and tests."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version

from ...errors import Category, GateError
from ...plan.output import StepOutput
from ...plan.task_ir import Example, OutputKind
from ..base import Diagnostic, Finding, Stage, Subject, fault
from ..sandbox import backend_kind
from ..sandbox.confinement import package_folders
from ..source import explain, without_code
from .emptied import emptied
from .inspection import Facts, read
from .layout import FileBlock, Layout, Piece, Placed, file_blocks, lay_out
from .run import Calls, Tests, canary, run_jobs
from .verdict import Trial, verdict

__all__ = ["Integration", "Unit", "installed", "python_version", "run_trial"]


_EMPTIED_S = 5
"""Seconds of computing for tests without their code: those that take longer notice, too."""


async def run_trial(
    layout: Layout,
    modules: Iterable[Placed],
    tests: Sequence[Placed],
    examples: Sequence[Example] = (),
    data: dict[str, str] | None = None,
) -> Finding:
    """Import modules, evaluate examples over the last one's names, and run tests, in the sandbox.

    Args:
        data: Further files by path.
    """
    calls = tuple(example.call for example in examples)
    jobs: list[Calls | Tests] = [Calls(tuple(placed.module for placed in modules), calls)]
    texts = {**(data or {}), **layout.texts()}
    path = ""
    if tests:
        path, text = canary()
        jobs += _test_jobs(layout, tests, (path, text))
    report = await run_jobs(texts, jobs, roots=layout.roots)
    return verdict(Trial(layout, jobs, examples, path), report)


def _test_jobs(layout: Layout, tests: Sequence[Placed], canary: tuple[str, str]) -> list[Tests]:
    """Return the run of all tests, and that of the artifact's own without the code they test."""
    path, text = canary
    files = {placed.path: (placed.module, placed.text) for placed in tests}
    own = [placed for placed in tests if placed.piece.own]
    docs = {placed.path: _doctests(placed) for placed in own if placed.piece.facts.doctests}
    jobs = [Tests({**files, path: (path.removesuffix(".py"), text)}, docs)]
    if own and (texts := emptied(layout, own)):
        of_own = {placed.path: (placed.module, placed.text) for placed in own}
        of_own |= {at: (of_own[at][0], texts[at]) for at in texts if at in of_own}
        jobs.append(Tests(of_own, docs, texts, path, cpu_s=_EMPTIED_S, wall_s=2.0 * _EMPTIED_S))
    return jobs


def _doctests(placed: Placed) -> list[tuple[str, int, str]]:
    found = placed.piece.facts.doctests
    return [(name, line + placed.added * (line > placed.head), text) for name, line, text in found]


def python_version() -> str:
    """Return the versions of what runs the tests, and the sandbox policy.

    Raises:
        GateError: There is no pytest.
        SandboxError: There is no sandbox.
    """
    # Not at import: settings are Prefect's, and a command's help needs none of it.
    from ...settings import SwarmSettings

    policy = SwarmSettings().sandbox
    if policy == "strict":
        backend_kind()
    return f"{_tools()}, sandbox {policy}"


@cache
def _tools() -> str:
    try:
        of_pytest = version("pytest")
    except PackageNotFoundError:
        raise GateError("pytest isn't installed.", "pip install pytest") from None
    of_python = ".".join(map(str, sys.version_info[:3]))
    return f"pytest {of_pytest}, Python {of_python}, {_packages()}"


def _packages() -> str:
    """Say which packages code can import: their number, and a digest of names and versions."""
    entries = (entry for folder in package_folders() for entry in os.listdir(folder))
    found = sorted(entry for entry in entries if entry.endswith((".dist-info", ".egg-info")))
    digest = hashlib.sha256("\n".join(found).encode()).hexdigest()
    return f"{len(found)} packages {digest[:8]}"


@cache
def installed() -> frozenset[str]:
    """Return the top-level modules that are installed in addition to Python's own."""
    return frozenset(packages_distributions())


@dataclass(frozen=True)
class Unit:
    """Examples, the artifact's own tests, and the tests of it that earlier steps wrote."""

    name: str = "unit"
    about: str = "Python that gives what its examples say and passes its tests"
    kinds: frozenset[OutputKind] = frozenset({"python"})
    stage: Stage = "unit"
    timeout_s: float = 120.0

    def version(self) -> str:
        return python_version()

    async def check(self, subject: Subject) -> Finding:
        """Test the artifact with everything that can test it; without any, import it.

        Raises:
            GateError: The sandbox couldn't start what runs the tests.
            SandboxError: There is no sandbox.
        """
        facts = read(subject.artifact)
        if isinstance(facts, Diagnostic):
            return fault(Category.FORMAT, await explain(subject.artifact, facts))
        examples = subject.output.examples
        layout = lay_out(_pieces(subject, facts), installed())
        if facts.tests and not facts.code and not examples and (wanted := layout.missing.get(0)):
            return _skip(f"the tests are of {', '.join(wanted)}, which no earlier step wrote")
        tests = [layout.placed[at] for at in _tests(layout)]
        found = await run_trial(layout, layout.placed[:1], tests, examples)
        if found.status == "passed" and not tests and not examples:
            return _skip("nothing to test it with: no examples, no tests; it can be imported")
        return found


def _pieces(subject: Subject, facts: Facts) -> list[Piece]:
    others = [
        Piece(output.name, output.text, of_material)
        for output in subject.upstream
        if output.kind == "python" and isinstance(of_material := read(output.text), Facts)
    ]
    return [Piece("artifact", subject.artifact, facts, own=True), *others]


def _tests(layout: Layout) -> list[int]:
    """Return the positions of what tests the artifact, the first: itself, and those who use it."""
    facts = [placed.piece.facts for placed in layout.placed]
    own = [0] if facts[0].tests or facts[0].doctests else []
    others = range(1, len(facts))
    return own + [at for at in others if facts[at].tests and (at, 0) in layout.links]


def _skip(message: str) -> Finding:
    return Finding(status="skipped", diagnostics=(Diagnostic(message=message),))


_NOT_IMPORTED = ("setup.py", "conftest.py", "__main__.py")


@dataclass(frozen=True)
class Integration:
    """All Python files import together, and all tests in any of them pass."""

    name: str = "integration"
    about: str = "Python files that import together and pass the tests among them"
    kinds: frozenset[OutputKind] = frozenset({"python", "files"})
    stage: Stage = "integration"
    timeout_s: float = 180.0

    def version(self) -> str:
        return python_version()

    async def check(self, subject: Subject) -> Finding:
        """Lay all files out, import them, run all tests; skip what has no second Python file.

        Raises:
            GateError: The sandbox couldn't start what runs the tests.
            SandboxError: There is no sandbox.
        """
        files = _collect(subject)
        if files.problems or files.unread:
            unread = [await _explained(block, found) for block, found in files.unread[:5]]
            return fault(Category.FORMAT, *[*files.problems, *unread][:5])
        if len(files.pieces) < 2:
            alone = Diagnostic(message="there are no two Python files to put together")
            return Finding(status="skipped", diagnostics=(alone,))
        layout = lay_out(files.pieces, installed())
        # What wants a module that is still to be written can't be judged yet.
        complete = [
            placed
            for at, placed in enumerate(layout.placed)
            if placed.piece.own or at not in layout.missing
        ]
        modules = [placed for placed in complete if _can_be_imported(placed)]
        tests = [placed for placed in complete if _has_tests(placed.piece)]
        return await run_trial(layout, modules, tests, data=_data(files, layout))


@dataclass(slots=True)
class _Files:
    pieces: list[Piece] = field(default_factory=list[Piece])
    data: dict[str, str] = field(default_factory=dict[str, str])
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])
    unread: list[tuple[FileBlock, Diagnostic]] = field(
        default_factory=list[tuple[FileBlock, Diagnostic]]
    )


def _collect(subject: Subject) -> _Files:
    """Take the artifact's files and those of earlier steps.

    Of two files with the same path the artifact's counts.
    """
    files = _Files()
    own = StepOutput(name="artifact", kind=subject.output.kind, text=subject.artifact)
    for output in (own, *subject.upstream):
        if output.kind == "python":
            block = FileBlock("", output.text, 0)
            _add_python(files, output.name, block, own=output is own)
        elif output.kind == "files":
            found = file_blocks(output.text)
            if output is own:
                files.problems += found.problems
            _add_blocks(files, output.name, found.files, own=output is own)
    return files


def _add_blocks(files: _Files, name: str, blocks: Sequence[FileBlock], *, own: bool) -> None:
    for block in blocks:
        taken = {piece.path for piece in files.pieces} | set(files.data)
        if any(_clash(block.path, other) for other in taken if other):
            continue
        if block.path.endswith(".py"):
            _add_python(files, name, block, own=own)
        else:
            files.data[block.path] = block.text


def _add_python(files: _Files, name: str, block: FileBlock, *, own: bool) -> None:
    # A file of a package may have nothing to say, an artifact may not.
    facts = Facts() if block.path and without_code(block.text) else read(block.text)
    if isinstance(facts, Facts):
        path = block.path or None
        files.pieces.append(Piece(name, block.text, facts, own, path, block.before))
    elif own:
        files.unread.append((block, facts))


async def _explained(block: FileBlock, problem: Diagnostic) -> Diagnostic:
    found = await explain(block.text, problem)
    line = None if found.line is None else found.line + block.before
    message = f"{block.path}: {found.message}" if block.path else found.message
    return found.model_copy(update={"line": line, "message": message})


def _clash(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}/") or other.startswith(f"{path}/")


def _has_tests(piece: Piece) -> bool:
    # The examples in the docstrings of earlier steps were looked at with those.
    is_package = (piece.path or "").endswith("__init__.py")
    own = piece.own and bool(piece.facts.doctests) and not is_package
    return own or bool(piece.facts.tests)


def _can_be_imported(placed: Placed) -> bool:
    name = placed.path.rpartition("/")[2]
    words = placed.module.split(".")
    return name not in _NOT_IMPORTED and all(word.isidentifier() for word in words)


def _data(files: _Files, layout: Layout) -> dict[str, str]:
    """Return the other files, without what stands where a module has to be."""
    modules = layout.texts()
    return {
        path: text
        for path, text in files.data.items()
        if not any(_clash(path, module) for module in modules)
    }
