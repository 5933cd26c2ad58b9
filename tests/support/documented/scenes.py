"""Scenes for commands of the docs: runs, and files next to them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from docs_pages import ROOT
from prefect_swarm.memory.store import close_stores

from .shell import Shell

__all__ = ["SCENES", "Kept", "Scene", "lay_out", "set_scene"]

_SCHEMA = {
    "type": "object",
    "properties": {"train": {"type": "number"}, "bus": {"type": "number"}},
    "required": ["train", "bus"],
}
_STEPS: list[dict[str, Any]] = [
    {
        "id": "S1",
        "agent": "Clerk",
        "prompt": "Write the prices as JSON.",
        "output": {"kind": "json", "schema": _SCHEMA},
    },
    {"id": "S2", "agent": "Expert", "prompt": "Describe buses."},
    {"id": "S3", "agent": "Expert", "prompt": "Describe the way.", "depends_on": ["S1", "S2"]},
    {"id": "S4", "agent": "Expert", "prompt": "Draw a conclusion.", "depends_on": ["S3"]},
]
_OBJECTIVE = "Compare trains and buses"
_CASES = """\
cases:
  - name: compared
    plan: done.json
    checks:
      words: {all: [short]}
"""


def _plan(**changes: dict[str, Any]) -> str:
    """Return the plan of the scenes, with changes to steps by their ids."""
    steps = [{**step, **changes.get(step["id"], {})} for step in _STEPS]
    agents = [
        {"name": name, "system_prompt": f"You are the {name.lower()}."}
        for name in ("Clerk", "Expert")
    ]
    return json.dumps({"objective": _OBJECTIVE, "agents": agents, "steps": steps})


_FILES: Mapping[str, str] = MappingProxyType(
    {
        "plan.json": _plan(S3={"approval": True}),
        "done.json": _plan(),
        "partial.json": _plan(
            S1={"output": {"kind": "text"}},
            S3={
                "prompt": "What nobody can do",
                "output": {"kind": "json", "schema": _SCHEMA},
            },
        ),
        "edited.yaml": _plan(S4={"prompt": "Draw a short conclusion."}),
        "plan.yaml": _plan(S4={"prompt": "Draw a short conclusion."}),
        "cases.yaml": _CASES,
        "slug.py": "def slugify(title: str) -> str:\n    return title.lower()\n",
        "notes.md": "# Notes\n\nThe bus is blue.\n",
        "papers/first.txt": "Trains are long.\n",
        "reports/2024.txt": "We sold 40 mills.\n",
        "objectives.jsonl": '{"objective": "Compare trains and buses"}\n',
    }
)


def lay_out(folder: Path) -> None:
    """Put the files into a folder that commands of the pages name, and a checkout's examples."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for name, text in _FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


@dataclass(frozen=True, slots=True)
class Scene:
    """Commands that are typed first, in an empty data folder; they print the runs' ids.

    Attributes:
        code: The exit code of the last of them.
        copied: Whether their data folder may be kept, and copied for the next command. A run that
            waits is one of the server's too, so that it is not available twice.
    """

    commands: tuple[str, ...] = ()
    code: int = 0
    copied: bool = False


_WAITS = "prefect-swarm run --plan plan.json --approve {} < /dev/null"
SCENES: Mapping[str, Scene] = MappingProxyType(
    {
        "nothing": Scene(),
        "done": Scene(("prefect-swarm run --plan done.json",), copied=True),
        "two": Scene(("prefect-swarm run --plan done.json",) * 2, copied=True),
        "partial": Scene(("prefect-swarm run --plan partial.json --max-attempts 1",), 3, True),
        "plan waits": Scene((_WAITS.format("plan"),), 4),
        "step waits": Scene((_WAITS.format("steps"),), 4),
        "answered": Scene((_WAITS.format("plan"), "prefect-swarm approve RUN")),
        "evaluated": Scene(("prefect-swarm eval cases.yaml --times 1",)),
        "exported": Scene(
            ("prefect-swarm run --plan done.json", "prefect-swarm memory export memory.jsonl")
        ),
    }
)


@dataclass
class Kept:
    """Data folders of scenes that are copied, and the ids of their runs."""

    folder: Path
    runs: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


def set_scene(name: str, shell: Shell, home: Path, kept: Kept) -> list[str]:
    """Make a data folder what a scene says; return the ids of its runs, the oldest first."""
    scene = SCENES[name]
    if not scene.copied:
        return _played(scene, shell)
    stored = kept.folder / name.replace(" ", "-")
    if name not in kept.runs:
        kept.runs[name] = _played(scene, shell)
        close_stores()
        shutil.copytree(home, stored)
    else:
        shutil.copytree(stored, home, dirs_exist_ok=True)
    return kept.runs[name]


def _played(scene: Scene, shell: Shell) -> list[str]:
    runs: list[str] = []
    code, output = 0, ""
    for command in scene.commands:
        done = shell.run(command.replace("RUN", runs[-1] if runs else "RUN"))
        code, output = done.code, done.output
        runs += [run for run in re.findall(r"Run ([0-9a-f]{12})\b", output) if run not in runs]
    assert code == scene.code, output
    return runs
