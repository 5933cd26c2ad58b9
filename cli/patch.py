"""`prefect-swarm patch` and `apply`: what a run changed in its workspace, and the way there."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError, RunAliveError
from ..text import one_line, plural, visible
from .command import as_step_id
from .run import RunName
from .terminal.printing import print_patch, print_text
from .terminal.session import say

if TYPE_CHECKING:
    from ..store.protocol import RunStore
    from ..store.workspace import WorkspaceState
    from ..workspace.repository import Repository

__all__ = ["apply", "patch"]


def patch(
    run_name: RunName,
    step: Annotated[
        str | None, typer.Option("--step", help="What this step changed, and nothing else.")
    ] = None,
) -> int:
    """Print all that a run changed in its workspace as one patch, as `git apply` takes it."""
    from ..store.runs import find_run
    from ..store.workspace import stored_patch

    run = find_run(run_name)
    text = stored_patch(run, as_step_id(step) if step else "")
    if not text:
        raise InputError(
            f"Run {run.run_id} has changed nothing in its workspace"
            f"{' so far' if run.is_executed() else ''}.",
            f"See what it did: prefect-swarm inspect {run.run_id}",
        )
    if sys.stdout.isatty():
        print_patch(text)
    else:
        # Bytes: whatever the locale, and with the line ends that the files have.
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    return 0


def apply(
    run_name: RunName,
    branch: Annotated[
        str | None,
        typer.Option(
            "--branch",
            metavar="NAME",
            help="Make a new branch with a commit for each step, and leave the folder as it is.",
        ),
    ] = None,
) -> int:
    """Write what a run changed into its workspace: the folder that it began with.

    What has changed there since is merged with it. Where both changed the same places, nothing is
    written. With --branch the folder's repository gets a new branch, from the commit that the run
    began with; folder, index and current branch stay as they are.
    """
    from ..store.runs import find_run
    from ..store.workspace import open_state

    run = find_run(run_name)
    if run.is_executed():
        raise RunAliveError(
            f"Run {run.run_id} goes on: its changes aren't whole yet.",
            f"Wait for its end: prefect-swarm watch {run.run_id}",
        )
    repository, state = open_state(run)
    if not state.taken:
        raise InputError(
            f"Run {run.run_id} has changed nothing in its workspace.",
            f"See what it did: prefect-swarm inspect {run.run_id}",
        )
    _say_status(run)
    if branch is not None:
        _make_branch(run, repository, state, branch)
    else:
        _write(run, repository, state)
    return 0


def _say_status(run: RunStore) -> None:
    """Say where a run isn't whole: its changes may not be, either."""
    result = run.result()
    if result is None:
        say(f"Run {run.run_id} has not ended; this is what it had changed so far.")
    elif result.status != "completed":
        why = f": {one_line(result.problem, 400)}" if result.problem else "."
        say(f"Run {run.run_id} is {result.status}{why}")


def _write(run: RunStore, repository: Repository, state: WorkspaceState) -> None:
    from ..workspace.delivery import deliver, find_delivery, outcome_of

    delivery = find_delivery(repository, state.base, state.whole, run.run_id)
    folder = visible(str(delivery.folder))
    if not delivery.writes:
        print_text(f"{folder} has all of it already: nothing was changed.")
        return
    file = deliver(repository, delivery)
    for write in delivery.writes:
        print_text(f"{outcome_of(write):<7}  {write.path}")
    merged = ", merged with what had changed there since" if delivery.has_moved_on else ""
    print_text(f"{plural(len(delivery.writes), 'file')} of {folder}{merged}.")
    back = f"git -C {shlex.quote(str(delivery.folder))} apply -R {shlex.quote(str(file))}"
    print_text(f"Undo: {back}")


def _make_branch(run: RunStore, repository: Repository, state: WorkspaceState, name: str) -> None:
    from ..store.workspace import message_of
    from ..workspace.branch import BranchCommit, add_branch

    commits = [BranchCommit(each.whole, message_of(each)) for each in state.taken]
    base = state.base
    made = add_branch(repository, base, name, commits, run.run_id)
    for each in made:
        print_text(f"{each.commit[:12]}  {one_line(each.subject, 100)}")
    print_text(
        f"The branch {name} of {base.folder} has {plural(len(made), 'commit')} on top of "
        f"{base.head[:12]}."
    )
    git = f"git -C {shlex.quote(base.folder)}"
    print_text(f"See it: {git} log -p {base.head[:12]}..{shlex.quote(name)}")
    print_text(f"Undo: {git} branch -D {shlex.quote(name)}")
