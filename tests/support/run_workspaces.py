"""Runs with a workspace, without a swarm: a folder of a user, and what is stored of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from git_folders import committed, contents
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.workspace import WorkspaceState, begin_workspace, open_workspace
from prefect_swarm.toolsets.catalogue import ToolsetUse
from prefect_swarm.workspace.base import record_base
from prefect_swarm.workspace.place import Workplace
from prefect_swarm.workspace.repository import Repository, folder_of

__all__ = ["RunWorkspace", "begun"]


@dataclass(frozen=True)
class RunWorkspace:
    """A run whose base is recorded; each use of it has objects of its own, as a process does."""

    run_folder: Path
    user_folder: Path
    state: WorkspaceState
    start: str = field(default="")

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.run_folder)

    @property
    def repository(self) -> Repository:
        return open_workspace(self.run)

    def use(self, attempt: str = "S1.1", *, changes: bool = True) -> ToolsetUse:
        """Return the use of a toolset by an attempt that starts from the base."""
        start = self.start or self.state.base.commit
        place = Workplace(run=self.run.run_id, folder=str(self.user_folder), start=start)
        return ToolsetUse(self.run, "S1", attempt, workplace=place, changes=changes)

    def forget(self) -> None:
        """Delete the run's repository, as where another machine goes on."""
        Repository(folder_of(self.run.run_id)).remove()

    def held(self, commit: str) -> dict[str, bytes]:
        """Return what the files of a commit hold."""
        return contents(self.repository, commit)


def begun(folder: Path, files: Mapping[str, str | bytes]) -> RunWorkspace:
    """Begin a run on a repository that has these files."""
    user = committed(folder / "user" / "shop", files)
    run = RunFolder(folder / "runs" / "run1")
    base = record_base(Repository(folder_of(run.run_id)), str(user), 9)
    return RunWorkspace(run.folder, user, begin_workspace(run, base))
