"""What all commands share: `--debug`, the run's options, and how they end."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..settings.data_folder import FolderUse, check_data_folder
from .environment import quieten
from .failure import failure_of, show
from .help_text import as_written, unwrapped, written

__all__ = ["AsEvents", "AsJson", "command"]

AsJson = Annotated[bool, typer.Option("--json", help="Print only JSON on standard output.")]

AsEvents = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Print only the run's events on standard output, a line of JSON each, as they happen.",
    ),
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
    def wrapper(**given: Any) -> None:
        debug: bool = given.pop("debug")
        quieten(debug=debug)
        try:
            for name, read in readers.items():
                given[name] = read(given)
            if data is not None:
                check_data_folder(data)
            code = function(**given)
        except typer.Exit:
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last place to catch it
            failure = failure_of(error)
            show(error, failure, debug=debug)
            if given.get("as_json"):
                typer.echo(json.dumps(failure.to_json()))
            code = failure.exit_code
        raise typer.Exit(code)

    wrapper.__doc__ = written(unwrapped(function.__doc__ or ""))
    wrapper.__signature__ = inspect.Signature([*parameters, _DEBUG])  # type: ignore[attr-defined]
    return wrapper
