"""The options of a run's workspace, held against this machine before a model is asked."""

from __future__ import annotations

from ..errors import InputError, WorkspaceError
from ..gates.patch.execution import interpreter_problem, place_problem
from ..workspace.base import workspace_folder
from ..workspace.git import git_version
from .options import SwarmOptions

__all__ = ["check_workspace"]


def check_workspace(options: SwarmOptions, *, is_recorded: bool = False) -> None:
    """Refuse options of a workspace that can't be worked with here.

    Args:
        options: Those of the run.
        is_recorded: Whether the run has a copy of the folder already, which may be gone since.

    Raises:
        InputError: Checks or a Python are named without a workspace, or the Python is none.
        WorkspaceError: The workspace is no folder, or there is no git.
    """
    if options.workspace is None:
        for name, value in (("--check", options.checks), ("--python", options.python)):
            if value:
                raise InputError(
                    f"{name} was given without a workspace.", "Give --workspace DIR, too."
                )
        return
    for command in options.checks:
        if not command.strip():
            raise InputError("A check is empty.", "Give a command, such as --check 'pytest -q'.")
    git_version()
    if not is_recorded:
        folder, _ = workspace_folder(options.workspace)
        if problem := place_problem(str(folder)):
            raise WorkspaceError(
                f"The workspace {folder} can't be used: {problem}.", "Move it to another folder."
            )
    if options.python is not None and (problem := interpreter_problem(options.python)):
        raise InputError(
            f"The project's Python can't be used: {problem}.",
            "Give the one of its environment, such as --python .venv/bin/python.",
        )
