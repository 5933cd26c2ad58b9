"""The toolset `workspace`: a step's own copy of the user's files, to read, search and change.

The copy is a tree of the run's repository. What a call leaves is stored under the call's key, so
that an attempt that goes on in another process finds it as its last call left it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import Field
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from ..data_types import Frozen
from ..errors import InputError, RunDamagedError
from ..gates.patch.execution import execute, files_of, within
from ..gates.patch.judging import keep_outcome
from ..plan.output import WORKSPACE
from ..store.workspace import open_workspace
from ..text import clean
from ..workspace.names import path_problem
from ..workspace.place import Workplace
from ..workspace.repository import FileData, PatchError, Repository
from .catalogue import Toolset, ToolsetUse, marked
from .python import call_key, to_its_end
from .workspace_files import (
    Outcome,
    edited,
    found_lines,
    listing,
    named,
    page,
    quoted_text,
    rewritten,
    without,
)

__all__ = ["WorkspaceSource", "patch_of"]

_CHARACTERS = 16_000
_AROUND_S = 10.0
_LONGEST_S = 300.0


class _Calls(Frozen):
    """The calls that are over.

    Attributes:
        answers: What the model read of each, by what tells it from the others.
        tree: What they made of the files; "" while that is what the step starts from.
        patch: Where the patch is that makes it, for a machine that doesn't have the tree.
    """

    answers: dict[str, str] = Field(default_factory=dict)
    tree: str = ""
    patch: str = ""


@dataclass(frozen=True, slots=True)
class _Copy:
    """The copy of an attempt: its repository, and what it has come to."""

    use: ToolsetUse
    place: Workplace
    repository: Repository

    @staticmethod
    def of(use: ToolsetUse, place: Workplace) -> _Copy:
        """Open the copy, for a single call: the repository may be gone before the next one."""
        return _Copy(use, place, open_workspace(use.run))

    @property
    def name(self) -> str:
        return f"{self.use.attempt}-{self.use.conversation or 'first'}-{WORKSPACE}"

    def calls(self) -> _Calls:
        return self.use.run.tool_state(self.name, _Calls) or _Calls()

    def start(self) -> str:
        return self.repository.tree_of(self.place.start)

    def tree(self, calls: _Calls) -> str:
        """Return the tree as the last call left it."""
        if not calls.tree:
            return self.start()
        if not self.repository.has(calls.tree):
            patch = self.use.run.tool_blob(self.name, calls.patch).decode()
            wrong = RunDamagedError(f"The workspace of {self.use.attempt} can't be made again.")
            try:
                made = self.repository.applied(self.start(), patch)
            except PatchError:
                raise wrong from None
            if made != calls.tree:
                raise wrong
        return calls.tree

    def add(self, calls: _Calls, key: str, answer: str, tree: str | None) -> None:
        """Write down a call; `tree` is what it left, None where it changed nothing."""
        answers = {**calls.answers, key: answer}
        if tree is None:
            self.use.run.write_tool_state(self.name, calls.model_copy(update={"answers": answers}))
            return
        data = self.repository.patch(self.start(), tree).encode()
        name = hashlib.sha256(data).hexdigest()
        changed = _Calls(answers=answers, tree=tree, patch=name)
        self.use.run.write_tool_state(self.name, changed, {name: data})


def patch_of(use: ToolsetUse) -> str:
    """Return what an attempt has made of its copy, as a patch; "" where it changed nothing.

    Raises:
        InputError: The patch is too large.
        RunDamagedError: What was written can't be read.
    """
    if use.workplace is None:
        return ""
    copy = _Copy.of(use, use.workplace)
    calls = copy.calls()
    return copy.repository.patch(copy.start(), copy.tree(calls)) if calls.tree else ""


@dataclass(frozen=True, slots=True)
class WorkspaceSource:
    """The files of the run's workspace.

    Attributes:
        seconds: What a call may take.
    """

    seconds: float = 60.0
    name: str = WORKSPACE

    @property
    def about(self) -> str:
        """What plans are shown of it."""
        return (
            "Reads and searches the files of the workspace, and runs commands over them; a step "
            "whose output kind is patch also changes them."
        )

    @property
    def server(self) -> str:
        """Its own name."""
        return self.name

    def toolset(self, use: ToolsetUse) -> Toolset:
        """Return the tools of an attempt: those that change something where it makes a patch."""
        return _toolset(_Tools(use, self.seconds), changes=use.changes or use.workplace is None)


@dataclass(slots=True)
class _Tools:
    use: ToolsetUse
    seconds: float
    _lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    async def reading(self, read: Callable[[Repository, str], str]) -> str:
        """Return what is read of the files as the last call left them."""
        return await asyncio.to_thread(self._read, read)

    def _read(self, read: Callable[[Repository, str], str]) -> str:
        copy = self._copy()
        with _failing():
            return read(copy.repository, copy.tree(copy.calls()))

    async def changing(
        self, key: str, change: Callable[[Repository, str], Awaitable[Outcome]]
    ) -> str:
        """Return what a call answers; if it is over already, what it answered then."""
        async with self._lock:
            copy = await asyncio.to_thread(self._copy)
            calls = await asyncio.to_thread(copy.calls)
            if (known := calls.answers.get(key)) is not None:
                return known
            tree = await asyncio.to_thread(copy.tree, calls)
            with _failing():
                outcome = await change(copy.repository, tree)
                # Of a patch that is too large nothing is written.
                adding = asyncio.to_thread(copy.add, calls, key, outcome.answer, outcome.tree)
                await to_its_end(adding)
            return outcome.answer

    async def run(self, repository: Repository, tree: str, command: str) -> Outcome:
        """Run a command over the files, and take what it changed."""
        place = self._place()
        limits = within(min(_LONGEST_S, max(1.0, self.seconds - _AROUND_S)))
        is_check = place.checks == (command,)
        async with files_of(repository, tree) as files:
            done = await execute(
                files,
                [command],
                place=place.folder,
                python=place.python,
                limits=limits,
                reports=is_check,
                changes=True,
                characters=_CHARACTERS,
            )
        if done.ended:
            return Outcome(f"{done.ended} The files are as they were before this call.")
        if is_check:
            await asyncio.to_thread(keep_outcome, repository, place, tree, done)
        taken, refused = await asyncio.to_thread(
            _allowed, repository, tree, done.changes, done.refused
        )
        after = await asyncio.to_thread(repository.with_changes, tree, taken) if taken else None
        (result,) = done.results
        return Outcome(_run_text(result.exit_code, result.output, taken, refused), after)

    def _place(self) -> Workplace:
        if self.use.workplace is None:
            raise ToolFailed("The run has no workspace.")
        return self.use.workplace

    def _copy(self) -> _Copy:
        return _Copy.of(self.use, self._place())


def _allowed(
    repository: Repository,
    tree: str,
    changes: Mapping[str, FileData | None],
    refused: Mapping[str, str],
) -> tuple[dict[str, FileData | None], dict[str, str]]:
    """Return the changes of a command that the patch may have; what git ignores is dropped."""
    there = repository.entries(tree)
    new = [path for path in changes if path not in there]
    ignored = repository.ignored(tree, [path for path in new if not path_problem(path)])
    wrong = {path: problem for path in changes if (problem := path_problem(path))}
    taken = {
        path: change
        for path, change in changes.items()
        if path not in ignored and path not in wrong and (change is not None or path in there)
    }
    kept = {path: why for path, why in refused.items() if path not in ignored}
    return taken, {**kept, **{path: why for path, why in wrong.items() if path in there}}


def _run_text(
    exit_code: int, output: str, taken: Mapping[str, object], refused: Mapping[str, str]
) -> str:
    shown = quoted_text("", clean(output).rstrip()) if output.strip() else ["[nothing printed]"]
    lines = [f"[exit code {exit_code}]"]
    if taken:
        lines.append(f"[changed] {named(sorted(taken))}")
    if refused:
        problems = [f"{path}: {why}" for path, why in refused.items()]
        lines.append(f"[not kept] {named(problems)}")
    return "\n".join([*shown, *lines])


@contextmanager
def _failing() -> Generator[None]:
    """Let the model read what it asked for wrongly; that a run is damaged is no fault of its."""
    try:
        yield
    except RunDamagedError:
        raise
    except InputError as error:
        raise ToolFailed(str(error)) from error


def _toolset(tools: _Tools, *, changes: bool) -> FunctionToolset[None]:
    async def list_files(folder: str = "", pattern: str = "*") -> str:
        """List the files of the workspace.

        Args:
            folder: Only those in this folder; all if empty.
            pattern: Only those that fit, such as *.py or src/**.
        """
        return await tools.reading(lambda at, tree: listing(at, tree, folder, pattern))

    async def search(text: str, regular: bool = False, folder: str = "") -> str:
        """Search the files for a text, line by line.

        Args:
            text: What a line has, exactly.
            regular: Whether text is a POSIX extended regular expression.
            folder: Only in this folder or file; everywhere if empty.
        """
        return await tools.reading(
            lambda at, tree: found_lines(at, tree, text, regular=regular, folder=folder)
        )

    async def read(path: str, start_line: int = 1, lines: int = 200) -> str:
        """Read some lines of a file; each has its number before it, which is not in the file.

        Args:
            path: The file's path in the workspace.
            start_line: The first line, from 1.
            lines: How many lines, at most 400.
        """
        return await tools.reading(lambda at, tree: page(at, tree, path, start_line, lines))

    async def edit(context: RunContext[None], path: str, old: str, new: str) -> str:
        """Replace a text of a file that it has exactly once.

        Args:
            context: The conversation.
            path: The file's path in the workspace.
            old: What the file has, with its blanks and line ends; without line numbers.
            new: What takes its place.
        """
        key = call_key(context, f"edit\0{path}\0{old}\0{new}")
        return await tools.changing(key, _aside(lambda at, tree: edited(at, tree, path, old, new)))

    async def write(context: RunContext[None], path: str, content: str) -> str:
        """Write a whole file, a new one or in the place of one.

        Args:
            context: The conversation.
            path: The file's path in the workspace.
            content: All that it holds.
        """
        key = call_key(context, f"write\0{path}\0{content}")
        return await tools.changing(
            key, _aside(lambda at, tree: rewritten(at, tree, path, content))
        )

    async def delete(context: RunContext[None], path: str) -> str:
        """Delete a file.

        Args:
            context: The conversation.
            path: The file's path in the workspace.
        """
        key = call_key(context, f"delete\0{path}")
        return await tools.changing(key, _aside(lambda at, tree: without(at, tree, path)))

    async def run(context: RunContext[None], command: str) -> str:
        """Run a command of a shell in the workspace's folder and return what it prints.

        There is no network. What it changes is kept for your next calls, unless git ignores it.

        Args:
            context: The conversation.
            command: Such as: python -m pytest -q tests/test_one.py
        """
        key = call_key(context, f"run\0{command}")
        return await tools.changing(key, lambda at, tree: tools.run(at, tree, command))

    mark = marked(idempotent=True)
    made: list[Tool[None]] = [
        Tool(list_files, name="list", metadata=mark),
        Tool(search, metadata=mark),
        Tool(read, metadata=mark),
        Tool(run, sequential=True, metadata=mark),
    ]
    if changes:
        # One after another: each begins with what the one before it left.
        made += [
            Tool(edit, sequential=True, metadata=mark),
            Tool(write, sequential=True, metadata=mark),
            Tool(delete, sequential=True, metadata=mark),
        ]
    return FunctionToolset[None](made)


def _aside(
    change: Callable[[Repository, str], Outcome],
) -> Callable[[Repository, str], Awaitable[Outcome]]:
    async def call(repository: Repository, tree: str) -> Outcome:
        return await asyncio.to_thread(change, repository, tree)

    return call
