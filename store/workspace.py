"""What a run stores of its workspace: the base, and the patches of steps that were taken.

The repository on this machine can always be made again from that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from threading import Lock

from pydantic import Field

from ..data_types import Frozen
from ..errors import InputError, RunDamagedError, WorkspaceError
from ..text import one_line
from ..workspace.base import WorkspaceBase
from ..workspace.git import GitFailedError
from ..workspace.repository import Merged, PatchError, Repository, folder_of
from .protocol import RunStore

__all__ = [
    "TakenPatch",
    "WorkspaceState",
    "begin_workspace",
    "merge_all",
    "message_of",
    "open_state",
    "open_workspace",
    "patch_bases",
    "store_state",
    "stored_patch",
    "take_patch",
    "take_workspace",
    "with_finished",
    "workspace_state",
]

_NAME = "workspace"
_restoring = Lock()


class TakenPatch(Frozen):
    """A step's patch that the run has taken.

    Attributes:
        run: The run that made it; a fork takes it over.
        step: The step's id.
        agent: Who made it.
        subject: What it is about, in a line.
        onto: The commits that its start is merged of.
        commit: The start with the patch.
        whole: The merge of all patches so far.
    """

    run: str
    step: str
    agent: str
    subject: str
    onto: tuple[str, ...]
    commit: str
    whole: str


class WorkspaceState(Frozen):
    """A run's workspace.

    Attributes:
        pack: The blob that has the base.
        taken: The patches that were taken, in their order.
        onto: What steps start from that conflicted, by their ids and the first such attempt.
    """

    base: WorkspaceBase
    pack: str
    taken: tuple[TakenPatch, ...] = ()
    onto: dict[str, dict[int, tuple[str, ...]]] = Field(default_factory=dict)

    @property
    def whole(self) -> str:
        """The commit with all that was taken."""
        return self.taken[-1].whole if self.taken else self.base.commit

    def onto_of(self, step: str, attempt: int) -> tuple[str, ...]:
        """Return the commits that an attempt starts on top of after a conflict; () without one."""
        since = [each for each in self.onto.get(step, {}) if each <= attempt]
        return self.onto[step][max(since)] if since else ()

    def with_onto(self, step: str, attempt: int) -> WorkspaceState:
        """Return it with a step whose attempts from this one on start from all that was taken."""
        own = {**self.onto.get(step, {}), attempt: (self.whole,)}
        return self.model_copy(update={"onto": {**self.onto, step: own}})

    def taken_of(self, step: str) -> TakenPatch | None:
        """Return a step's patch; None where none was taken."""
        return next((each for each in self.taken if each.step == step), None)


def workspace_state(run: RunStore) -> WorkspaceState | None:
    """Return what is stored of a run's workspace; None where it has none."""
    return run.tool_state(_NAME, WorkspaceState)


def store_state(run: RunStore, state: WorkspaceState) -> None:
    """Write down what changed of a workspace."""
    run.write_tool_state(_NAME, state)


def begin_workspace(run: RunStore, base: WorkspaceBase) -> WorkspaceState:
    """Write down what a run starts from, once its repository has it."""
    repository = Repository(folder_of(run.run_id))
    data = repository.pack(base.commit)
    repository.keep_packed(data)
    pack = hashlib.sha256(data).hexdigest()
    state = WorkspaceState(base=base, pack=pack)
    run.write_tool_state(_NAME, state, {pack: data})
    return state


def take_workspace(source: RunStore, run: RunStore, finished: Collection[str]) -> None:
    """Have a run start from the base of another one, with the patches of some of its steps.

    Doing it again changes nothing.

    Raises:
        RunDamagedError: What was stored can't be read, or gives something else.
        WorkspaceError: There is no git.
    """
    if workspace_state(source) is None or workspace_state(run) is not None:
        return
    repository, state = open_state(source)
    state = with_finished(repository, state, finished).model_copy(update={"onto": {}})
    for each in state.taken:
        _write_patch(run, each.step, _patch_text(source, each.step))
    run.write_tool_state(_NAME, state, {state.pack: source.tool_blob(_NAME, state.pack)})


def take_patch(
    run: RunStore, state: WorkspaceState, taken: TakenPatch, patch: str
) -> WorkspaceState:
    """Write down a patch that was taken: its text first."""
    _write_patch(run, taken.step, patch)
    state = state.model_copy(update={"taken": (*state.taken, taken)})
    store_state(run, state)
    return state


class _PatchText(Frozen):
    blob: str


def _patch_name(step: str) -> str:
    return f"{_NAME}-{step}"


def _write_patch(run: RunStore, step: str, patch: str) -> None:
    data = patch.encode()
    name = hashlib.sha256(data).hexdigest()
    run.write_tool_state(_patch_name(step), _PatchText(blob=name), {name: data})


def _patch_text(run: RunStore, step: str) -> str:
    if (found := run.tool_state(_patch_name(step), _PatchText)) is None:
        raise RunDamagedError(f"The patch of {step} is not in the run.")
    return run.tool_blob(_patch_name(step), found.blob).decode()


def stored_patch(run: RunStore, step: str = "") -> str:
    """Return all that a run has taken as one patch of its base, or what one of its steps brought.

    Raises:
        InputError: The step has brought nothing.
        RunDamagedError: What was stored can't be read, or gives something else.
        WorkspaceError: The run has no workspace, or there is no git.
    """
    repository, state = open_state(run)
    if not step:
        return repository.patch(state.base.commit, state.whole, most=None)
    if (taken := state.taken_of(step)) is None:
        names = ", ".join(each.step for each in state.taken)
        known = f"These have one: {names}." if names else "No step has one."
        raise InputError(f"No patch of {step} was taken in run {run.run_id}.", known)
    return repository.patch(f"{taken.commit}^1", taken.commit)


def open_workspace(run: RunStore) -> Repository:
    """Return a run's repository; see `open_state`."""
    return open_state(run)[0]


def open_state(run: RunStore) -> tuple[Repository, WorkspaceState]:
    """Return a run's repository, and what is stored of it.

    Where this machine doesn't have the repository, it is made from the store.

    Raises:
        RunDamagedError: What was stored can't be read, or gives something else.
        WorkspaceError: The run has no workspace, or there is no git.
    """
    repository = Repository(folder_of(run.run_id))
    with _restoring:
        if (state := workspace_state(run)) is None:
            raise WorkspaceError(
                f"Run {run.run_id} has no workspace, so it changed no files.",
                "Begin one with a folder: prefect-swarm run … --workspace DIR",
            )
        if not repository.is_there:
            repository.make()
        if not repository.has(state.base.commit):
            _unpack(run, repository, state)
        if not all(map(repository.has, (state.whole, *(each.commit for each in state.taken[-1:])))):
            _restore(run, repository, state)
    return repository, state


def _unpack(run: RunStore, repository: Repository, state: WorkspaceState) -> None:
    wrong = RunDamagedError(f"The base of the workspace of run {run.run_id} can't be made again.")
    try:
        repository.unpack(run.tool_blob(_NAME, state.pack))
    except GitFailedError:
        raise wrong from None
    if not repository.has(state.base.commit):
        raise wrong


def _restore(run: RunStore, repository: Repository, state: WorkspaceState) -> None:
    whole = state.base.commit
    for each in state.taken:
        patch = _patch_text(run, each.step)
        try:
            start = merge_all(repository, each.onto, state.base.at)
            tree = repository.applied(start.commit, patch)
        except (GitFailedError, PatchError):
            raise RunDamagedError(
                f"The patch of {each.step} in run {run.run_id} doesn't fit what it did."
            ) from None
        message = message_of(each)
        commit = repository.commit(tree, (start.commit,), message, state.base.at)
        whole = repository.merged(whole, commit, state.base.at).commit
        if (commit, whole) != (each.commit, each.whole):
            raise RunDamagedError(
                f"The patch of {each.step} in run {run.run_id} gives other files than it did."
            )


def with_finished(
    repository: Repository, state: WorkspaceState, finished: Collection[str]
) -> WorkspaceState:
    """Return a state with the patches of some steps alone, and of none that starts from others."""
    taken: list[TakenPatch] = []
    gone: list[str] = []
    whole = state.base.commit
    for each in state.taken:
        if each.step not in finished or any(map(partial(repository.contains, each.commit), gone)):
            gone.append(each.commit)
            continue
        whole = repository.merged(whole, each.commit, state.base.at).commit
        taken.append(each.model_copy(update={"whole": whole}))
    return state.model_copy(update={"taken": tuple(taken)}) if gone else state


def patch_bases(state: WorkspaceState | None) -> Mapping[str, frozenset[str]]:
    """Return on which steps' patches each step's patch was made, by their ids. Pure.

    These are those of the steps that it needs, and after a conflict all that had been taken.
    """
    if state is None:
        return {}
    bases: dict[str, frozenset[str]] = {}
    within: dict[str, frozenset[str]] = {state.base.commit: frozenset()}
    whole = frozenset[str]()
    for each in state.taken:
        bases[each.step] = frozenset[str]().union(*(within.get(name, ()) for name in each.onto))
        whole |= {each.step}
        within[each.commit] = bases[each.step] | {each.step}
        within.setdefault(each.whole, whole)
    return bases


def merge_all(repository: Repository, commits: Sequence[str], at: int) -> Merged:
    """Merge commits one after another; where two conflict, that is the result."""
    found = Merged(commits[0])
    for commit in commits[1:]:
        found = repository.merged(found.commit, commit, at)
        if found.conflicts:
            break
    return found


def message_of(taken: TakenPatch) -> str:
    """Return a commit's message: what it is about, and who made it in which run."""
    agent = one_line(taken.agent, 80)
    return f"{taken.subject}\n\nAgent: {agent}\nStep: {taken.step}\nSwarm-Run: {taken.run}\n"
