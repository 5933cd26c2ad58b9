"""Commands over a copy of a tree, in the sandbox, in the environment that a user names."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import Field, ValidationError

from ...data_types import Frozen
from ...errors import InputError
from ...workspace.repository import LARGEST_FILE, FileData, Repository
from ..sandbox import Program, ProgramResult, SandboxLimits, run
from ..sandbox.confinement import collect_visible_files, environment, find_visible_files, is_covered
from ..sandbox.launcher.wire import unpack_from

__all__ = [
    "LIMITS",
    "CommandResult",
    "Executed",
    "execute",
    "files_of",
    "interpreter_problem",
    "place_problem",
    "within",
]

_MIB = 1 << 20
LIMITS = SandboxLimits(
    cpu_s=600,
    wall_s=600,
    memory_bytes=3072 * _MIB,
    address_bytes=64 << 30,
    processes=256,
    open_files=1024,
    disk_bytes=1024 * _MIB,
    output_bytes=_MIB,
)
"""What the commands of a call may take together; a tree is copied into the sandbox's memory."""
_GUEST = Path(__file__).with_name("guest.py")
_SHOWN, _PYTHON = "/tree", "/python"
_RESULT = "result"
_REPORT_BYTES = 16 * _MIB
_MOST_FILES = 2_000
_FILE_BYTES = 32 * _MIB
_MALFORMED = (EOFError, KeyError, TypeError, ValueError, OverflowError, RecursionError)


class CommandResult(Frozen):
    """How a command ended; what it printed is cut in its middle."""

    exit_code: int
    output: str = ""


class _Found(Frozen):
    results: tuple[CommandResult, ...]
    changed: dict[str, bool] = Field(default_factory=dict)
    gone: tuple[str, ...] = ()
    refused: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Executed:
    """What commands came to.

    Attributes:
        results: How each ended; none where the sandbox ended them.
        reports: What pytest wrote of each, as JUnit's XML; b"" where it is no call of pytest.
        changes: The files that they changed; None where one is gone.
        refused: Changes that can't be taken, and why.
        ended: Why the sandbox ended them; "" if it didn't.
    """

    results: tuple[CommandResult, ...] = ()
    reports: tuple[bytes, ...] = ()
    changes: Mapping[str, FileData | None] = field(default_factory=dict[str, "FileData | None"])
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    ended: str = ""


async def execute(
    files: Path,
    commands: Sequence[str],
    *,
    place: str,
    python: str = "",
    limits: SandboxLimits = LIMITS,
    reports: bool = False,
    changes: bool = False,
    characters: int = 20_000,
) -> Executed:
    """Run commands of a shell one after another over a copy of a folder.

    Args:
        files: The folder; it is only read.
        place: The path that the commands see it under.
        python: The interpreter of an environment that they find first on PATH; "" for this one.
        reports: Whether pytest's own report is asked for.
        changes: Whether the files that they changed are handed back.
        characters: Of what each prints.

    Raises:
        InputError: There is no such interpreter.
        SandboxError: The sandbox can't be made.
    """
    shown = _environment(python, place)
    job = {
        "source": str(files),
        "shown": _SHOWN,
        "place": place,
        "commands": [*commands],
        "environment": shown.variables,
        "links": shown.inner_links,
        "reports": reports,
        "changes": changes,
        "report_bytes": _REPORT_BYTES,
        "characters": characters,
        "files": _MOST_FILES,
        "file_bytes": _FILE_BYTES,
    }
    program = Program(
        ("python", "-P", "-s", "-S", "-B", "guest.py"),
        {"guest.py": _GUEST.read_bytes(), "job.json": json.dumps(job).encode()},
        keep=(_RESULT,),
        keep_bytes=_most_bytes(len(commands), characters, reports=reports, changes=changes),
        shows={_SHOWN: str(files), **shown.shows},
        links={place: "/sandbox/tree"},
    )
    done = _executed(await run(program, limits), limits, len(commands), changes=changes)
    return replace(
        done,
        results=tuple(_bounded(result, characters) for result in done.results),
        reports=done.reports if reports else (b"",) * len(done.results),
    )


def _most_bytes(commands: int, characters: int, *, reports: bool, changes: bool) -> int:
    """Return how many bytes a result may have: the commands may have written it themselves."""
    of_each = 12 * characters + _REPORT_BYTES * reports
    return 8 * _MIB + commands * of_each + _FILE_BYTES * changes


def _bounded(result: CommandResult, characters: int) -> CommandResult:
    most = characters + len("\n[…]\n")
    return result.model_copy(update={"output": result.output[:most]})


@asynccontextmanager
async def files_of(repository: Repository, tree: str) -> AsyncGenerator[Path]:
    """Give a folder with a tree's files, which is made and removed beside the event loop."""
    folder = repository.checked_out(tree)
    files = await asyncio.to_thread(folder.__enter__)
    try:
        yield files
    finally:
        await asyncio.to_thread(folder.__exit__, None, None, None)


@dataclass(frozen=True, slots=True)
class _Environment:
    """What a sandbox shows of an environment: folders, links in the tree, and variables."""

    shows: Mapping[str, str] = field(default_factory=dict[str, str])
    inner_links: Mapping[str, str] = field(default_factory=dict[str, str])
    variables: Mapping[str, str] = field(default_factory=dict[str, str])


def place_problem(place: str) -> str:
    """Say why a folder can't be a workspace: each sandbox would show it; "" if it can."""
    shown = [target for _, target in find_visible_files().binds]
    if is_covered(place, shown):
        return "it is in a folder of the system or of this Python, which each sandbox shows"
    if sys.prefix == place:
        return "it is the environment of this Python itself"
    return ""


def interpreter_problem(python: str) -> str:
    """Say why a path is not one of an interpreter; "" if it is."""
    path = Path(python).expanduser()
    if not path.is_file() or not os.access(path, os.X_OK):
        return f"{python} is no program"
    return "" if path.parent.name in ("bin", "Scripts") else f"{python} is not in a folder bin"


def _environment(python: str, place: str) -> _Environment:
    own = environment()
    if not python:
        if not is_covered(sys.prefix, [place]):
            return _Environment(variables={"PATH": own["PATH"]})
        # This one is in the workspace itself, as a project's environment mostly is.
        python = sys.executable
    if problem := interpreter_problem(python):
        raise InputError(f"The project's Python can't be used: {problem}.", "Give --python FILE.")
    path = Path(os.path.abspath(Path(python).expanduser()))
    prefix = path.parent.parent
    base = _base_of(prefix)
    shows = {target: source for source, target in collect_visible_files([base or prefix]).binds}
    variables = {"PATH": f"{path.parent}:{own['PATH']}"}
    if not base:  # It is no virtual environment.
        return _Environment(shows, {}, variables)
    variables["VIRTUAL_ENV"] = str(prefix)
    if not is_covered(str(prefix), [place]):
        return _Environment({**shows, str(prefix): str(prefix)}, {}, variables)
    # The files' own folder is a link in there, so that the environment can't be shown below it.
    links = {str(prefix.relative_to(place)): _PYTHON}
    return _Environment({**shows, _PYTHON: str(prefix)}, links, variables)


def _base_of(prefix: Path) -> Path | None:
    """Return the prefix of the Python that a virtual environment was made with."""
    try:
        lines = (prefix / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    values = {
        key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)
    }
    home = values.get("home", "")
    return Path(home).parent if home else None


def _executed(
    result: ProgramResult, limits: SandboxLimits, count: int, *, changes: bool
) -> Executed:
    # An empty one was begun on a full disk.
    if result.exceeded is not None or not result.files.get(_RESULT):
        return Executed(ended=_why(result, limits))
    try:
        header, blobs = unpack_from(io.BytesIO(result.files[_RESULT]).read)
        found = _Found.model_validate(header)
    except (*_MALFORMED, ValidationError):
        return Executed(ended="What they left can't be read.")
    known = len(found.changed), len(found.gone), len(found.refused)
    if (
        len(found.results) != count
        or len(blobs) != count + len(found.changed)
        or any(size > _MOST_FILES + 2 for size in known)
    ):
        return Executed(ended="What they left can't be read.")
    written: dict[str, FileData | None] = dict.fromkeys(found.gone)
    refused = dict(found.refused)
    for (path, executable), data in zip(found.changed.items(), blobs[count:], strict=True):
        if len(data) > LARGEST_FILE:
            refused[path] = f"it has over {LARGEST_FILE:,} bytes"
        else:
            written[path] = FileData(data, executable)
    return Executed(
        found.results,
        tuple(blobs[:count]),
        written if changes else {},
        refused,
    )


def _why(result: ProgramResult, limits: SandboxLimits) -> str:
    match result.exceeded:
        case "memory":
            return f"They took more than {limits.memory_bytes // _MIB:,} MiB of memory."
        case "cpu" | "wall":
            return f"They took more than {limits.wall_s:g} s."
        case "output":
            return "They wrote too much."
        case _:
            last = result.stderr.strip().rpartition("\n")[2][:300]
            return f"They were ended from within: {last or 'nothing is said'}."


def within(seconds: float) -> SandboxLimits:
    """Return the limits of commands that may take so long."""
    return replace(LIMITS, wall_s=seconds, cpu_s=seconds * (os.cpu_count() or 1))
