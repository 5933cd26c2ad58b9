"""Check an artifact with its hidden test; code runs in the sandbox."""

from __future__ import annotations

import json
from typing import Any

from hidden import JsonTruth, PythonTruth, ShellRun, ShellTruth, TextTruth, Truth, text_flaw
from jsonschema import Draft202012Validator
from prefect_swarm.gates import Diagnostic, format_diagnostics
from prefect_swarm.gates.python.gates import installed, run_trial
from prefect_swarm.gates.python.inspection import Facts, read
from prefect_swarm.gates.python.layout import Piece, lay_out
from prefect_swarm.gates.sandbox import Program, ProgramResult, SandboxLimits, run

__all__ = ["flaw", "run_flaw"]

_LIMITS = SandboxLimits(cpu_s=5, wall_s=20)
_SCRIPT = "script"
# On Debian awk is a link into /etc/alternatives, which the sandbox doesn't show.
_START = """\
command -v awk >/dev/null || {
  mkdir /tmp/bin && ln -s "$(command -v mawk || command -v gawk)" /tmp/bin/awk
  PATH=/tmp/bin:$PATH
}
exec "$0" "$@"
"""


async def flaw(truth: Truth, artifact: str) -> str:
    """Say what is wrong with an artifact; nothing if it is right.

    Raises:
        SwarmError: There is no sandbox; that says nothing about the artifact.
    """
    match truth:
        case PythonTruth():
            return await _python_flaw(truth, artifact)
        case ShellTruth():
            return await _shell_flaw(truth, artifact)
        case JsonTruth():
            return _json_flaw(truth, artifact)
        case TextTruth():
            return text_flaw(truth, artifact)


async def _python_flaw(truth: PythonTruth, artifact: str) -> str:
    facts = read(artifact)
    if isinstance(facts, Diagnostic):
        return str(facts)
    pieces = [Piece("artifact", artifact, facts, own=True)]
    if truth.tests and isinstance(of_tests := read(truth.tests), Facts):
        pieces.append(Piece("hidden", truth.tests, of_tests))
    # Tests that the artifact brings are left out: it is the function that was asked for.
    layout = lay_out(pieces, installed())
    found = await run_trial(layout, layout.placed[:1], layout.placed[1:], truth.examples)
    return (
        ""
        if found.status == "passed"
        else format_diagnostics(found.diagnostics) or str(found.category)
    )


async def _shell_flaw(truth: ShellTruth, artifact: str) -> str:
    posix = artifact.startswith(("#!/bin/sh", "#! /bin/sh"))
    shell = "/bin/sh" if posix else "/bin/bash"
    for asked in truth.runs:
        files = {_SCRIPT: artifact, **asked.files}
        program = Program(
            ("/bin/sh", "-c", _START, shell, _SCRIPT, *asked.argv),
            {name: text.encode("utf-8", "replace") for name, text in files.items()},
            stdin=asked.stdin.encode(),
            keep=tuple(asked.leaves),
        )
        if wrong := run_flaw(asked, await run(program, _LIMITS)):
            return f"{' '.join([_SCRIPT, *asked.argv])}: {wrong}"
    return ""


def run_flaw(asked: ShellRun, result: ProgramResult) -> str:
    """Say what is wrong with how a script ended; nothing if it is as it has to be."""
    if result.exit_code != asked.exit:
        how = result.exceeded or result.signal or result.exit_code
        return f"it ended with {how}, not {asked.exit}: {result.stderr.strip()[:200]}"
    if _plain(result.stdout) != _plain(asked.stdout):
        return f"it printed {result.stdout[:200]!r}, not {asked.stdout!r}"
    for name, content in asked.leaves.items():
        if result.files.get(name) != content.encode():
            return f"{name} isn't there as it has to be"
    return ""


def _plain(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def _json_flaw(truth: JsonTruth, artifact: str) -> str:
    try:
        value: Any = json.loads(artifact)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    errors: list[Any] = list(Draft202012Validator(truth.json_schema).iter_errors(value))
    return f"{errors[0].json_path}: {errors[0].message}" if errors else ""
