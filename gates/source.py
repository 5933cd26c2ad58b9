"""Facts about source code, and trusted tools run on it."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import os
import re
import shutil
import signal
import sys
import sysconfig
import tokenize
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from subprocess import PIPE, run
from typing import Any

from ..errors import GateError
from ..plan.output import NOT_READ, why_not_read
from .base import Diagnostic

__all__ = [
    "LANGUAGE",
    "NO_CODE",
    "NO_COMMAND",
    "TOO_DEEP",
    "ToolOutput",
    "explain",
    "find_tool",
    "gave_up",
    "run_tool",
    "says_nothing",
    "this_python",
    "tool_version",
    "unreadable",
    "without_code",
    "without_command",
    "without_pyright_directives",
    "without_shellcheck_directives",
]


TOO_DEEP = "it is nested too deeply to be read"
"""What a text is that made a tool give up."""

_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent", "NO_COLOR": "1"}


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool printed, and its exit code."""

    exit_code: int
    stdout: str
    stderr: str


def gave_up(output: ToolOutput) -> bool:
    """Whether a tool broke down over the text: its stack was too small for it."""
    if output.exit_code in (0, 1):
        return False
    words = output.stderr.lower()
    signs = ("stack overflow", "overflowed its stack", "stack exceeds", "call stack size")
    return output.exit_code == -signal.SIGSEGV or any(sign in words for sign in signs)


@cache
def find_tool(name: str, package: str) -> str:
    """Return the path of an executable: the one next to this interpreter, else the first on PATH.

    Raises:
        GateError: There is none; the fix names the package that has it.
    """
    own = Path(sysconfig.get_path("scripts"), name)
    found = str(own) if own.exists() else shutil.which(name)
    if found is None:
        raise GateError(f"{name} isn't installed.", f"pip install {package}")
    return found


@cache
def tool_version(name: str, package: str) -> str:
    """Return the tool's name and the version that `--version` prints."""
    command = [find_tool(name, package), "--version"]
    completed = run(command, stdout=PIPE, check=False, env=_ENVIRONMENT)  # noqa: S603 - a tool of ours
    words = completed.stdout.decode(errors="replace").split()
    number = next((word for word in words if word.lstrip("v")[:1].isdigit()), "?")
    return f"{name} {number.lstrip('v')}"


async def run_tool(argv: Sequence[str], text: str) -> ToolOutput:
    """Give a tool a text and wait for its end; cancelling kills it and all that it started.

    Args:
        argv: The executable's path and its arguments.
    """
    # A start that is cancelled half-way would leave a process that is never killed.
    starting = asyncio.ensure_future(_start(argv))
    try:
        process = await asyncio.shield(starting)
        stdout, stderr = await process.communicate(text.encode("utf-8", "replace"))
    except asyncio.CancelledError:
        process = await starting
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        raise
    return ToolOutput(
        process.returncode or 0,
        stdout.decode("utf-8", "replace"),
        stderr.decode("utf-8", "replace"),
    )


async def _start(argv: Sequence[str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *argv,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=_ENVIRONMENT,
        cwd="/",
        start_new_session=True,
    )


_SHELLCHECK = re.compile(r"^([ \t]*+#[ \t]*+)shellcheck([ \t]++.*)$", re.MULTILINE)
# These say what a script is, and hide nothing.
_HARMLESS = ("shell=", "source=", "source-path=", "external-sources=")
_COMMENT = re.compile(r"#[^\n]*+")
_LONGEST_LINE = 1000
"""The tokenizer takes time by the square of a line that ends within a string."""
_PYRIGHT = re.compile(r"pyright(\s*+:)")


def without_shellcheck_directives(script: str) -> str:
    """Make plain comments of the directives that hide something; places stay as they are."""
    return _SHELLCHECK.sub(_hidden, script)


def _hidden(match: re.Match[str]) -> str:
    words = match[2].partition("#")[0].split()
    return match[0] if all(map(_is_harmless, words)) else f"{match[1]}ShellCheck{match[2]}"


def _is_harmless(word: str) -> bool:
    return word.startswith(_HARMLESS)


def without_pyright_directives(text: str) -> str:
    """Make plain comments of `# pyright: …`; places stay as they are."""
    lines = text.splitlines(keepends=True)
    if max(map(len, lines), default=0) > _LONGEST_LINE:
        # What looks like a comment within a string is changed as well: nobody reads it here.
        return _COMMENT.sub(lambda comment: _PYRIGHT.sub(r"Pyright\1", comment[0]), text)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                row, start = token.start[0] - 1, token.start[1]
                before, comment = lines[row][:start], lines[row][start:]
                lines[row] = before + _PYRIGHT.sub(r"Pyright\1", comment)
    except (tokenize.TokenError, SyntaxError, ValueError, IndexError):
        return text  # What can't be read has errors that no comment hides.
    return "".join(lines)


NO_CODE = "there is no code in it"
NO_COMMAND = "there is no command in it"


def without_command(script: str) -> bool:
    """Whether a shell script has no command."""
    lines = (line.strip(" \t\r\\") for line in script.split("\n"))
    return all(not line or line.startswith("#") for line in lines)


def without_code(text: str) -> bool:
    """Whether a Python text does and defines nothing; what can't be read isn't judged here."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return says_nothing(ast.parse(text.encode()))
    except NOT_READ:
        return False


def unreadable(text: str) -> str:
    """Say why a Python text isn't for a tool: it has no code, or is nested beyond all measure.

    Where it isn't Python the tool knows best; deeper than Python itself reads it may break down.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return NO_CODE if says_nothing(ast.parse(text.encode())) else ""
    except (RecursionError, MemoryError) as error:
        return why_not_read(error)
    except NOT_READ:
        return ""


def says_nothing(tree: ast.Module) -> bool:
    """Whether a module has no more than comments, texts and `pass`."""
    return all(
        isinstance(node, ast.Pass)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in tree.body
    )


LANGUAGE = f"--target-version=py{sys.version_info[0]}{sys.version_info[1]}"
"""ruff's option for the Python that a program will run on."""
_NEWER = "syntax was added in Python"


def this_python(message: str) -> str:
    """Add this Python's version to what ruff says of newer syntax."""
    version = ".".join(map(str, sys.version_info[:3]))
    return f"{message}; this is Python {version}" if _NEWER in message else message


async def explain(text: str, problem: Diagnostic) -> Diagnostic:
    """Return a better account of a mistake in syntax where a newer Python would read the text."""
    argv = ("check", "--isolated", "--no-cache", "--output-format=json", "--select=E9", LANGUAGE)
    found: list[dict[str, Any]] = []
    with suppress(GateError, ValueError):
        output = await run_tool((find_tool("ruff", "ruff"), *argv, "-"), text)
        found = json.loads(output.stdout or "[]")
    for mistake in found:
        if _NEWER in mistake["message"]:
            place = mistake["location"]
            return problem.model_copy(
                update={
                    "message": this_python(mistake["message"]),
                    "line": place["row"],
                    "column": place["column"],
                }
            )
    return problem
