"""A text in the editor of the person at the terminal."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from ..errors import InputError
from ..host.system import without_login

__all__ = ["edit_text"]


def edit_text(text: str, noun: str) -> str:
    """Return what the user makes of a text.

    Args:
        text: YAML.
        noun: What it is: the file is named after it.

    Raises:
        InputError: There is no editor, or it failed.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="prefect-swarm-") as folder:
        path = Path(folder) / f"{noun}.yaml"
        path.write_text(text, "utf-8")
        try:
            command = [*shlex.split(editor), str(path)]
            done = subprocess.run(command, check=False, env=without_login())  # noqa: S603 - the user's own
            if done.returncode:
                raise InputError(
                    f"The editor {editor!r} ended with {done.returncode}.", f"The {noun} stays."
                )
            return path.read_text("utf-8")
        except (OSError, ValueError) as error:
            raise InputError(
                f"The editor {editor!r} can't be used: {error}.", "Set EDITOR."
            ) from None
