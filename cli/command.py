"""Options and error handling that all commands share."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import json
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args, get_origin

import typer
from rich.markup import escape
from typer.core import HAS_RICH
from typer.models import ParameterInfo

from ..data_folder import FolderUse, check_data_folder
from ..errors import ExitCode, SwarmError
from ..host.secrets import masked_urls
from ..host.system import no_home
from ..store.attempt import excerpt
from ..store.question import WAYS, RunWaitingError
from ..text import one_line, visible
from .process import quieten
from .terminal.interruption import Terminated

__all__ = [
    "AsEvents",
    "AsJson",
    "FailureMessage",
    "Verbose",
    "as_step_id",
    "as_written",
    "command",
    "failure_of",
    "show",
    "unwrapped",
    "written",
]


def as_step_id(text: str) -> str:
    """Return a step's id as a person typed it, in any case, the way it is written: s2R3 → S2r3."""
    return text.strip().upper().replace("R", "r")


def written(text: str) -> str:
    """Return a text such that the help shows it as it stands here."""
    return escape(text) if HAS_RICH else text


def unwrapped(text: str) -> str:
    """Return a docstring's paragraphs with a line each: the help wraps them for the terminal."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(text))


def as_written(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a command's parameter such that its help is shown as it stands."""
    if get_origin(parameter.annotation) is not Annotated:
        return parameter
    kind, *about = get_args(parameter.annotation)
    shown = tuple(map(_shown, about))
    return parameter.replace(annotation=Annotated[(kind, *shown)])  # type: ignore[arg-type] - its parts are known when it runs


def _shown(about: Any) -> Any:
    if not isinstance(about, ParameterInfo) or not about.help:
        return about
    # Several commands share it, so it isn't changed in place.
    changed = copy.copy(about)
    changed.help = written(about.help)
    return changed


_MOST_CHARS = 1000
"""What is shown of another's message: a server may repeat all that it was sent."""
_MOST_PROBLEM = 8000
_MOST_TRACEBACK = 20_000


@dataclass(frozen=True, slots=True)
class FailureMessage:
    """What to tell the user, and what to tell the shell; `more` is for programs alone."""

    problem: str
    fix: str
    exit_code: ExitCode
    kind: str
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def cancelled(self) -> bool:
        """Whether someone wanted it to end, and nothing is wrong."""
        return self.exit_code in (ExitCode.CANCELLED, ExitCode.TERMINATED)

    @property
    def waiting(self) -> bool:
        """Whether a run was left until a person answers."""
        return self.exit_code is ExitCode.WAITING

    def to_json(self) -> dict[str, Any]:
        """Return what `--json` prints in a result's place."""
        status = "cancelled" if self.cancelled else "waiting" if self.waiting else "error"
        words = {"status": status, "kind": self.kind, "problem": self.problem, "fix": self.fix}
        return {**words, **self.more}


def failure_of(error: BaseException) -> FailureMessage:
    """Say what went wrong; anything that isn't a deliberate error is an internal one."""
    kind = type(error).__name__
    if isinstance(error, Terminated):
        kind = "RunTerminatedError"
        return FailureMessage("Cancelled by SIGTERM.", "", ExitCode.TERMINATED, kind)
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        return FailureMessage("Cancelled.", "", ExitCode.CANCELLED, "RunCancelledError")
    if isinstance(error, RunWaitingError):
        questions = [question.model_dump(mode="json") for question in error.questions]
        more = {"run_id": error.run_id, "questions": questions}
        return FailureMessage(error.problem, error.advice, error.exit_code, kind, more)
    error = no_home(error) or error
    if isinstance(error, SwarmError):
        problem = masked_urls(excerpt(error.problem, _MOST_PROBLEM))
        return FailureMessage(problem, error.advice, error.exit_code, kind)
    message = masked_urls(one_line(str(error), _MOST_CHARS)) or "no message"
    if kind == "SettingsError" or getattr(error, "title", "").endswith("Settings"):
        # Prefect's own settings, which it reads while it is imported.
        return FailureMessage(
            f"Prefect's settings can't be read: {message}",
            "Mend the setting that is named: a variable, or see `prefect config view`.",
            ExitCode.USAGE,
            kind,
        )
    return FailureMessage(
        f"Internal error: {kind}: {message}",
        "Run with --debug for the traceback.",
        ExitCode.FAILED,
        kind,
    )


def show(error: BaseException, failure: FailureMessage, *, debug: bool) -> None:
    """Write the message to stderr, below the traceback where that is wanted."""
    if debug:
        typer.echo(visible(masked_urls(_traceback(error))), err=True, nl=False)
    if failure.waiting:
        typer.secho(visible(failure.problem), err=True, fg="yellow")
        for way in failure.fix.split(WAYS):
            typer.echo(visible(f"  {way}"), err=True)
        return
    if failure.cancelled:
        typer.secho(visible(f"{failure.problem} {failure.fix}").rstrip(), err=True, fg="yellow")
        return
    prefix = "" if failure.problem.startswith("Internal error") else "Error: "
    typer.secho(visible(f"{prefix}{failure.problem}"), err=True, fg="red")
    if failure.fix:
        typer.echo(visible(f"  {failure.fix}"), err=True)


def _traceback(error: BaseException) -> str:
    text = "".join(traceback.format_exception(error))
    if len(text) <= _MOST_TRACEBACK:
        return text
    half = _MOST_TRACEBACK // 2
    left_out = len(text) - _MOST_TRACEBACK
    return f"{text[:half]}\n… {left_out:,} characters are left out …\n{text[-half:]}"


AsJson = Annotated[bool, typer.Option("--json", help="Print only JSON on standard output.")]

AsEvents = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Print only the run's events on standard output, a line of JSON each, as they happen.",
    ),
]

Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also say what the memory showed and recalled.")
]

_DEBUG = inspect.Parameter(
    "debug",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool, typer.Option("--debug", help="Show tracebacks and what Prefect logs.")
    ],
)


def command(function: Callable[..., int], data: FolderUse | None = None) -> Callable[..., None]:
    """Make a command of a function that returns its exit code.

    The parameter `options`, a `SwarmOptions`, becomes one option for each of its fields, the
    parameter `changes` one for each that a resumed run may change, and `overrides` one for each
    field, of which those that are given count. Where the command has
    `as_json`, a failure is written to stdout as JSON as well.

    Args:
        data: What it does with the data folder, which is looked at first; None if nothing.
    """
    parameters: list[inspect.Parameter] = []
    readers: dict[str, Callable[[dict[str, Any]], Any]] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.name in ("options", "changes", "overrides"):
            # Here and not above: a command that runs nothing must not wait for what a run needs.
            from . import options

            is_new = parameter.name == "options"
            parameters += map(as_written, options.PARAMETERS[parameter.name]())
            readers[parameter.name] = options.options_from if is_new else options.changes_from
        else:
            keyword = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            parameters.append(as_written(keyword))

    @functools.wraps(function)
    def wrapper(**arguments: Any) -> None:
        debug: bool = arguments.pop("debug")
        quieten(debug=debug)
        try:
            for name, read in readers.items():
                arguments[name] = read(arguments)
            if data is not None:
                check_data_folder(data)
            code = function(**arguments)
        except typer.Exit:
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last place to catch it
            failure = failure_of(error)
            show(error, failure, debug=debug)
            if arguments.get("as_json"):
                typer.echo(json.dumps(failure.to_json()))
            code = failure.exit_code
        raise typer.Exit(code)

    wrapper.__doc__ = written(unwrapped(function.__doc__ or ""))
    wrapper.__signature__ = inspect.Signature([*parameters, _DEBUG])  # type: ignore[attr-defined]
    return wrapper
