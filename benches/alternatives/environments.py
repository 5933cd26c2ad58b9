"""An environment for each way, made once: Python's own venv, and pip with the pinned packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["WAYS", "make_environment"]

WAYS = Path(__file__).with_name("ways")
_READY = ".ready"


def make_environment(way: str) -> Path:
    """Return the folder of programs of a way's environment; make it where there is none.

    This package's own is the one that runs. The others are in the user's cache folder
    (`XDG_CACHE_HOME`), and are made anew when their requirements change.
    """
    requirements = WAYS / way / "requirements.txt"
    if not requirements.exists():
        return Path(sys.executable).parent
    folder = _cache() / way
    wanted = requirements.read_text("utf-8")
    ready = folder / _READY
    if not ready.exists() or ready.read_text("utf-8") != wanted:
        print(f"{way}: installing into {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", requirements], check=True)
        ready.write_text(wanted, "utf-8")
    return folder / "bin"


def _cache() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "prefect-swarm" / "alternatives"
