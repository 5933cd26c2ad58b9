"""Runs that have changed a workspace, made without a server: what was taken lies in their store."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from prefect_swarm.settings import home
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import About
from prefect_swarm.store.workspace import (
    TakenPatch,
    begin_workspace,
    merge_all,
    message_of,
    take_patch,
    workspace_state,
)
from prefect_swarm.workspace.base import record_base
from prefect_swarm.workspace.repository import FileData, Repository, folder_of

__all__ = ["RUN", "Changes", "git", "new_repository", "run_on", "snapshot", "take"]

RUN = "0123456789ab"
AT = 1_700_000_000
Changes = Mapping[str, str | FileData | None]
"""What files are to hold, by their paths; None where one goes."""


def git(folder: Path, *words: str) -> str:
    """Return what git prints in a folder."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def new_repository(folder: Path, files: Mapping[str, str]) -> Path:
    """Make a repository of git's with a commit of some files, by somebody with a name."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada Lovelace")
    git(folder, "config", "user.email", "ada@example.org")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def run_on(folder: Path) -> RunFolder:
    """Return a run that has begun with a folder."""
    run = RunFolder(home() / "runs" / RUN)
    flow_run = f"{RUN[:8]}-{RUN[8:]}-4000-8000-000000000000"
    run.write_about(About(flow_run_id=flow_run, objective="Fix it", started_at=AT))
    begin_workspace(run, record_base(Repository(folder_of(RUN)), str(folder), AT))
    return run


def take(run: RunFolder, step: str, changes: Changes, *needs: str) -> None:
    """Have a step's patch taken, which starts from the base and the patches of what it needs."""
    repository, state = Repository(folder_of(run.run_id)), workspace_state(run)
    assert state is not None
    commits = {each.step: each.commit for each in state.taken}
    onto = (state.base.commit, *(commits[name] for name in needs))
    start = merge_all(repository, onto, AT).commit
    before = repository.tree_of(start)
    written = {
        path: FileData(new.encode()) if isinstance(new, str) else new
        for path, new in changes.items()
    }
    patch = repository.patch(before, repository.with_changes(before, written))
    taken = TakenPatch(
        run=run.run_id,
        step=step,
        agent="Engineer",
        subject=f"do {step}",
        onto=onto,
        commit="",
        whole="",
    )
    tree = repository.applied(start, patch)
    commit = repository.commit(tree, (start,), message_of(taken), AT)
    whole = repository.merged(state.whole, commit, AT)
    assert not whole.conflicts
    made = taken.model_copy(update={"commit": commit, "whole": whole.commit})
    take_patch(run, state, made, patch)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return all files of a folder with their rights, git's own among them."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.lstat().st_mode)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
