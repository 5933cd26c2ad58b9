"""An environment for each way, made once: Python's own venv, and pip with the pinned packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["WAYS", "make_environment", "make_home"]

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


def make_home(way: str, programs: Path, home: Path) -> None:
    """Make the home folder of a trial.

    Prefect's database is made once for each way, as on the machine of a user who has used it
    before, and copied.
    """
    home.mkdir()
    prefect = programs / "prefect"
    if not prefect.exists():
        return
    template = _cache() / f"{way}.home"
    if not (template / _READY).exists():
        shutil.rmtree(template, ignore_errors=True)
        template.mkdir(parents=True)
        upgrade = [prefect, "server", "database", "upgrade", "-y"]
        subprocess.run(upgrade, check=True, capture_output=True, env={"HOME": str(template)})
        (template / _READY).touch()
    shutil.copytree(template / ".prefect", home / ".prefect")


def _cache() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "prefect-swarm" / "alternatives"
