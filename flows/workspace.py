"""The workspace of a run: what each step starts from, and which patches are taken, in turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from ..errors import PatchConflictError, WorkspaceError
from ..gates import Subject, build_pipeline, format_diagnostics, run_pipeline
from ..gates.patch.judging import checked
from ..gates.patch.project_tools import tool_tables
from ..metrics.clock import run_time
from ..plan.output import Output
from ..store.attempt import excerpt
from ..store.protocol import RunStore
from ..store.step import StepState
from ..store.workspace import (
    TakenPatch,
    WorkspaceState,
    begin_workspace,
    merge_all,
    message_of,
    open_workspace,
    store_state,
    take_patch,
    with_finished,
    workspace_state,
)
from ..text import one_line
from ..workspace.base import outline, record_base
from ..workspace.names import first_names
from ..workspace.place import Workplace
from ..workspace.repository import Repository, folder_of
from .options import SwarmOptions
from .step_needs import needs_of_records
from .workspace_options import check_workspace

__all__ = [
    "Workspace",
    "needed_patches",
    "open_run_workspace",
    "told_before_a_run",
    "with_own_checks",
]

PROJECT_FILE = "pyproject.toml"
_SUBJECT = 72
_NAMED = 5


def needed_patches(
    step: str, needs: Mapping[str, Sequence[str]], taken: Iterable[str]
) -> list[str]:
    """Return the steps whose patches a step starts from, in the order in which they were taken.

    Args:
        needs: Which steps each could not begin before.
    """
    found: set[str] = set()
    waiting = [*needs.get(step, ())]
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += needs.get(name, ())
    return [name for name in taken if name in found]


async def open_run_workspace(run: RunStore, options: SwarmOptions) -> Workspace | None:
    """Return the workspace of a run, whose base is recorded the first time; None without one.

    Raises:
        InputError: Its options can't be used here.
        WorkspaceError: The folder can't be copied, or there is no git.
    """
    if options.workspace is None:
        check_workspace(options)
        return None
    return await asyncio.to_thread(_open, run, options)


def _open(run: RunStore, options: SwarmOptions) -> Workspace:
    state = workspace_state(run)
    check_workspace(options, is_recorded=state is not None)
    if state is None:
        repository = Repository(folder_of(run.run_id))
        base = record_base(repository, options.workspace or "", int(run_time()))
        state = begin_workspace(run, base)
    else:
        repository = open_workspace(run)
        repository.drop_left_folders()
    return Workspace(run, options, state, _checks(repository, state.base.commit, options))


def _checks(repository: Repository, base: str, options: SwarmOptions) -> tuple[str, ...]:
    if PROJECT_FILE not in options.checks:
        return options.checks
    return with_own_checks(options.checks, repository.read(base, PROJECT_FILE) or b"")


async def told_before_a_run(options: SwarmOptions) -> str:
    """Return what a planner is told of the files where there is no run yet; "" without a workspace.

    Raises:
        WorkspaceError: The folder can't be copied, or there is no git.
    """
    return await asyncio.to_thread(_copied_and_told, options) if options.workspace else ""


def _copied_and_told(options: SwarmOptions) -> str:
    with TemporaryDirectory() as made:
        repository = Repository(Path(made))
        base = record_base(repository, options.workspace or "", int(run_time())).commit
        return _told(repository, base, _checks(repository, base, options))


def _told(repository: Repository, base: str, checks: Sequence[str]) -> str:
    seen = outline([*repository.entries(repository.tree_of(base))])
    kinds = ", ".join(f"{count} {ending}" for ending, count in seen.kinds)
    lines = [f"{seen.files} files ({kinds})", *(f"has to pass: {each}" for each in checks)]
    return "\n".join(one_line(line, 200) for line in [*lines, *seen.top])


def with_own_checks(checks: Sequence[str], project: bytes) -> tuple[str, ...]:
    """Return checks with those of a project in the place of its file's name. Pure.

    Args:
        checks: As they were asked for; `pyproject.toml` stands for `checks` of its table
            `tool.prefect-swarm`.
        project: What that file holds.

    Raises:
        WorkspaceError: It has none.
    """
    table = tool_tables(project).get("prefect-swarm")
    own: Any = cast("dict[str, Any]", table).get("checks") if isinstance(table, dict) else None
    found = cast("list[Any]", own) if isinstance(own, list) else []
    commands = [each for each in found if isinstance(each, str) and each.strip()]
    if not commands or len(commands) != len(found):
        raise WorkspaceError(
            "pyproject.toml of the workspace names no checks.",
            'Write them there: [tool.prefect-swarm] checks = ["pytest -q"]',
        )
    return tuple(
        command for each in checks for command in (commands if each == PROJECT_FILE else [each])
    )


@dataclass(slots=True)
class Workspace:
    """A run's workspace.

    Attributes:
        state: What is stored of it.
        checks: Commands that patches have to pass.
        starts: The commits that steps start from, by their ids.
    """

    run: RunStore
    options: SwarmOptions
    state: WorkspaceState
    checks: tuple[str, ...]
    starts: dict[str, str] = field(init=False, default_factory=dict[str, str])
    _lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    def place(self, step: str = "") -> Workplace:
        """Return what a step's work begins with: the base until `prepare` says otherwise."""
        return Workplace(
            run=self.run.run_id,
            folder=self.state.base.folder,
            start=self.starts.get(step, self.state.base.commit),
            checks=self.checks,
            python=self.options.python or "",
        )

    @property
    def repository(self) -> Repository:
        """The repository, made again where this machine doesn't have it."""
        return open_workspace(self.run)

    @asynccontextmanager
    async def base_checked(self) -> AsyncGenerator[None]:
        """Run the checks without a patch meanwhile, which the gate of the first patch waits for."""
        checking = asyncio.create_task(self._check_base())
        try:
            yield
        finally:
            checking.cancel()
            # Whatever went wrong, the gate says it.
            await asyncio.gather(checking, return_exceptions=True)

    async def _check_base(self) -> None:
        if self.checks:
            repository, tree = await asyncio.to_thread(self._base_tree)
            await checked(repository, self.place(), tree)

    def _base_tree(self) -> tuple[Repository, str]:
        repository = self.repository
        return repository, repository.tree_of(self.state.base.commit)

    async def prepare(self, step: str, attempt: int, records: Mapping[str, StepState]) -> None:
        """Find what an attempt starts from: the base with the patches that its step needs.

        Raises:
            PatchConflictError: Those don't fit together.
            PatchError: One that an earlier run had taken doesn't fit the files of this one.
        """
        needs = needs_of_records(records.values())
        async with self._lock:
            await asyncio.to_thread(self._take_left, records, needs)
            self.starts[step] = await asyncio.to_thread(self._start, step, attempt, needs)

    def _start(self, step: str, attempt: int, needs: Mapping[str, Sequence[str]]) -> str:
        onto = self._onto(step, attempt, needs)
        merged = merge_all(self.repository, onto, self.state.base.at)
        if merged.conflicts:
            where = first_names(merged.conflicts, _NAMED)
            raise PatchConflictError(
                f"The patches that {step} needs conflict in {where}.",
                "Have one of their steps depend on the other.",
            )
        return merged.commit

    def _onto(self, step: str, attempt: int, needs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        if own := self.state.onto_of(step, attempt):
            return own
        known = {each.step: each.commit for each in self.state.taken}
        names = needed_patches(step, needs, known)
        return (self.state.base.commit, *(known[name] for name in names))

    async def take(
        self, record: StepState, attempt: int, records: Mapping[str, StepState], patch: str
    ) -> str:
        """Take a step's patch; return why it conflicts with those before it, "" if it doesn't.

        Where it does, the step's next attempt starts on top of them.

        Raises:
            PatchError: It can't be applied: no gate has looked at it.
        """
        needs = needs_of_records(records.values())
        async with self._lock:
            return await asyncio.to_thread(self._take, record, attempt, needs, patch)

    async def take_left(self, records: Mapping[str, StepState]) -> None:
        """Take the patches that an earlier run has made, whose steps this one has from there.

        Raises:
            PatchError: One doesn't fit the files of this run.
        """
        async with self._lock:
            needs = needs_of_records(records.values())
            await asyncio.to_thread(self._take_left, records, needs)

    async def keep_finished(self) -> None:
        """Drop the patches of steps that are not done any more: their plan was edited."""
        async with self._lock:
            await asyncio.to_thread(self._keep_finished)

    def _keep_finished(self) -> None:
        stored = {each.step: self.run.step(each.step) for each in self.state.taken}
        finished = {name for name, step in stored.items() if step and step.status == "succeeded"}
        state = with_finished(self.repository, self.state, finished)
        if state is not self.state:
            self.state = state
            store_state(self.run, state)

    def _take_left(
        self, records: Mapping[str, StepState], needs: Mapping[str, Sequence[str]]
    ) -> None:
        for record in records.values():
            step = record.step
            is_own = not (record.members or step.plan or step.for_each or step.repeat)
            if not is_own or step.output.kind != "patch" or record.status != "succeeded":
                continue
            if record.output is None or self.state.taken_of(record.id) is not None:
                continue
            if why := self._take(record, 1, needs, record.output.text):
                raise PatchConflictError(f"{record.id} of the run that this goes on from: {why}")

    def _take(
        self, record: StepState, attempt: int, needs: Mapping[str, Sequence[str]], patch: str
    ) -> str:
        repository, state, step = self.repository, self.state, record.id
        onto = self._onto(step, attempt, needs)
        start = merge_all(repository, onto, state.base.at).commit
        taken = TakenPatch(
            run=self.run.run_id,
            step=step,
            agent=record.agent,
            subject=one_line(record.step.prompt, _SUBJECT),
            onto=onto,
            commit="",
            whole="",
        )
        tree = repository.applied(start, patch)
        message = message_of(taken)
        commit = repository.commit(tree, (start,), message, state.base.at)
        if (known := state.taken_of(step)) is not None:
            if known.commit == commit:
                return ""  # An earlier process had taken it.
            kept = {each.step for each in state.taken} - {step}
            state = with_finished(repository, state, kept)
        merged = repository.merged(state.whole, commit, state.base.at)
        if merged.conflicts:
            others = _authors(repository, state, merged.conflicts)
            where = first_names(merged.conflicts, _NAMED)
            self.state = state.with_onto(step, attempt + 1)
            store_state(self.run, self.state)
            return (
                f"The patch conflicts with {others} in {where}. The files now "
                "have those changes: make yours again on top of them, and keep what they do."
            )
        taken = taken.model_copy(update={"commit": commit, "whole": merged.commit})
        self.state = take_patch(self.run, state, taken, patch)
        return ""

    async def whole_patch(self) -> str:
        """Return all that was taken, as one patch of the base; "" where nothing was."""
        return await asyncio.to_thread(self._whole_patch)

    def _whole_patch(self) -> str:
        repository, state = self.repository, self.state
        before, after = (repository.tree_of(name) for name in (state.base.commit, state.whole))
        return repository.patch(before, after, most=None)

    async def problem_of(self, patch: str) -> str:
        """Say which gates all patches together don't pass; "" where they do."""
        if all(each.commit == self.state.whole for each in self.state.taken):
            return ""  # It is the only one, and has passed its gates.
        output = Output(kind="patch", may_change=("**",))
        place = self.place()
        subject = Subject(artifact=patch, output=output, workplace=place)
        found = await run_pipeline(build_pipeline(["applies", "check"]), subject)
        if (stopped := found.stopped_by) is None:
            return ""
        return (
            f"The patches together don't pass the gate {stopped.gate}: "
            f"{excerpt(format_diagnostics(stopped.diagnostics))}"
        )

    async def overview(self) -> str:
        """Return what a planner is told of the files."""
        base = self.state.base.commit
        return await asyncio.to_thread(lambda: _told(self.repository, base, self.checks))


def _authors(repository: Repository, state: WorkspaceState, paths: Sequence[str]) -> str:
    """Return whose patches changed some files."""
    names = [
        each.step for each in state.taken if not _changed_by(repository, each).isdisjoint(paths)
    ]
    return f"the patch of {', '.join(names)}" if names else "what was taken before it"


def _changed_by(repository: Repository, taken: TakenPatch) -> set[str]:
    changes = repository.changes(f"{taken.commit}^1", taken.commit)
    return {change.path for change in changes}
