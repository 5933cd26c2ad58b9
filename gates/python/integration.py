"""The `integration` gate: what several steps wrote in Python works together, in one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...errors import Category
from ...output import StepOutput
from ...task_ir import OutputKind
from ..code.source import explain, without_code
from ..gate import Stage, Subject
from ..result import Diagnostic, Finding, fault
from .file_blocks import FileBlock, file_blocks
from .inspection import Facts, read
from .layout import Layout, Piece, Placed, lay_out
from .trial import installed, python_version, run_trial

__all__ = ["Integration"]

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
