"""A project's own formatter, linter and type checker: what they find anew. Pure."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from ..base import Diagnostic
from ..code_gates import ALLOWED, RULES

__all__ = [
    "CONFIGURATIONS",
    "ProjectTool",
    "findings_of",
    "new_findings",
    "tool_for",
    "tool_tables",
]

ToolUse = Literal["format", "lint", "typecheck"]
CONFIGURATIONS = (
    "pyproject.toml",
    "ruff.toml",
    ".ruff.toml",
    "pyrightconfig.json",
    "mypy.ini",
    ".mypy.ini",
    "setup.cfg",
)
"""The files that say which tools a project has."""
_MOST = 10
_LINE = re.compile(
    r"[ \t]{0,8}(?P<path>[^\s:][^:\n]{0,1000}):(?P<line>\d{1,9})(?::\d{1,9})?(?:: | - )"
    r"(?P<what>[^\n]{1,2000})"
)
_UNFORMATTED = re.compile(
    r"(?:Would reformat: |would reformat |error: cannot format )(?P<path>[^:\n]{1,1000})"
    r"|[ \t]{0,8}--> (?P<shown>[^:\n]{1,1000}):\d{1,9}:\d{1,9}"
)
_UNPARSED = "error: Failed to parse "


@dataclass(frozen=True, slots=True)
class ProjectTool:
    """A tool and the words of its call; the files' paths come behind them."""

    name: str
    words: tuple[str, ...]

    def command(self, paths: Sequence[str]) -> str:
        """Return its call for a shell."""
        # Not all tools know `--`, and no path that begins so is taken for an option.
        return shlex.join([*self.words, *(f"./{path}" for path in paths)])


_RUFF_FORMAT = ProjectTool(
    "ruff",
    # Versions that know it say so in lines as `ruff check` does; for others it is no option.
    (
        *("env", "RUFF_OUTPUT_FORMAT=concise"),
        *("ruff", "format", "--check", "--no-cache", "--force-exclude"),
    ),
)
_BLACK = ProjectTool("black", ("black", "--check", "--force-exclude", "^$"))
_RUFF = ProjectTool(
    "ruff",
    ("ruff", "check", "--no-cache", "--force-exclude", "--quiet", "--output-format=concise"),
)
# What ruff asks for unasked differs from version to version, and much of it is a matter of taste.
_MISTAKES = ProjectTool(
    "ruff",
    (*_RUFF.words, f"--select={','.join(RULES)}", f"--ignore={','.join(ALLOWED)}"),
)
_PYRIGHT = ProjectTool("pyright", ("pyright",))
_MYPY = ProjectTool("mypy", ("mypy", "--no-error-summary", "--no-color-output", "--no-incremental"))


def tool_for(use: ToolUse, configurations: Mapping[str, bytes]) -> ProjectTool | None:
    """Return the tool that a project has for something; None where its files name none.

    A project without a linter of its own is linted with the rules of the gate `lint`.

    Args:
        configurations: What its configuration files hold, by their paths.
    """
    tables = tool_tables(configurations.get("pyproject.toml", b"")).keys()
    has_ruff = "ruff" in tables or any(
        name in configurations for name in ("ruff.toml", ".ruff.toml")
    )
    match use:
        case "format":
            if has_ruff:
                return _RUFF_FORMAT
            return _BLACK if "black" in tables else None
        case "lint":
            return _RUFF if has_ruff else _MISTAKES
        case "typecheck":
            if "pyrightconfig.json" in configurations or {"pyright", "basedpyright"} & tables:
                return _PYRIGHT
            has_mypy = "mypy" in tables or b"[mypy]" in configurations.get("setup.cfg", b"")
            named = any(name in configurations for name in ("mypy.ini", ".mypy.ini"))
            return _MYPY if has_mypy or named else None


def tool_tables(project: bytes) -> dict[str, Any]:
    """Return the tables `tool` of a `pyproject.toml`, by their names; none where it has none."""
    try:
        found: Any = tomllib.loads(project.decode()).get("tool", {})
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def findings_of(printed: str, place: str) -> list[tuple[str, int, str]]:
    """Return what a tool printed as path, line and words, without the folder that it ran in."""
    found: list[tuple[str, int, str]] = []
    for said in printed.splitlines():
        line = said.removeprefix(_UNPARSED)
        if match := _UNFORMATTED.match(line):
            path = _below(match["path"] or match["shown"], place)
            found.append((path, 0, "it is not formatted"))
        elif (match := _LINE.match(line)) and not match["what"].startswith(("note:", "warning:")):
            found.append((_below(match["path"], place), int(match["line"]), match["what"].strip()))
    return [*dict.fromkeys(found)]


def _below(path: str, place: str) -> str:
    for folder in (place, "/sandbox/tree"):
        path = path.removeprefix(f"{folder.rstrip('/')}/")
    return path.removeprefix("./").strip()


def new_findings(
    before: Sequence[tuple[str, int, str]], after: Sequence[tuple[str, int, str]]
) -> list[Diagnostic]:
    """Return what is found after a patch and wasn't before, wherever in a file it was."""
    known = Counter((path, what) for path, _, what in before)
    found: list[Diagnostic] = []
    for path, line, what in after:
        if known[path, what] > 0:
            known[path, what] -= 1
        else:
            found.append(
                Diagnostic(message=f"{path}:{line}: {what}" if line else f"{path}: {what}")
            )
    return found[:_MOST]
