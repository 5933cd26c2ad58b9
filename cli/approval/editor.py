"""A plan in the user's editor, until it is one or they leave it as it was."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from ...errors import InputError
from ...flows.edited.plan_file import marked, plan_text, problems_of, without_marks
from ...host.inherited import without_login
from ...task_ir import PlanRules, TaskIR

__all__ = ["edited_by_hand"]


async def edited_by_hand(
    plan: TaskIR, rules: PlanRules, say: Callable[[str], None]
) -> TaskIR | None:
    """Open an editor with a plan, again and again while what comes back is none.

    Args:
        say: Tells of problems.

    Returns:
        The edited plan; None if it was left as it is, or emptied, or there is no editor.
    """
    original = text = plan_text(plan)
    while True:
        try:
            text = await asyncio.to_thread(_edit, text)
        except InputError as error:
            say(str(error))
            return None
        bare = without_marks(text)
        if not bare.strip() or bare == original:
            return None
        found = problems_of(bare, plan, rules)
        if isinstance(found, TaskIR):
            return None if found == plan else found
        for problem in found:
            say(str(problem))
        text = marked(bare, found)


def _edit(text: str) -> str:
    """Return what the user makes of a text.

    Raises:
        InputError: There is no editor, or it failed.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="prefect-swarm-") as folder:
        path = Path(folder) / "plan.yaml"
        path.write_text(text, "utf-8")
        try:
            command = [*shlex.split(editor), str(path)]
            done = subprocess.run(command, check=False, env=without_login())  # noqa: S603 - the user's own
            if done.returncode:
                raise InputError(
                    f"The editor {editor!r} ended with {done.returncode}.", "The plan stays."
                )
            return path.read_text("utf-8")
        except (OSError, ValueError) as error:
            raise InputError(
                f"The editor {editor!r} can't be used: {error}.", "Set EDITOR."
            ) from None
