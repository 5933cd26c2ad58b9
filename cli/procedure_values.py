"""Values of a procedure's parameters, as commands are given them: NAME=VALUE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..errors import InputError
from ..untrusted.json_text import NoJsonError, read_json

if TYPE_CHECKING:
    from ..plan.procedure import ParameterValue, Procedure

__all__ = ["RunOptions", "check_given", "read_given", "read_run_options"]

RunOptions = Annotated[
    str,
    typer.Option("--run-options", metavar="JSON", help="Options of its runs, by their names."),
]


def read_given(values: Sequence[str]) -> dict[str, str]:
    """Read values that are given as NAME=VALUE.

    Raises:
        InputError: One has another form, or a name is given twice.
    """
    found: dict[str, str] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise InputError(f"--param {value!r} names no value.", "Write NAME=VALUE: week=47.")
        if name in found:
            raise InputError(f"--param {name} is given twice.", "Give it once.")
        found[name] = text
    return found


def check_given(procedure: Procedure, texts: Mapping[str, str]) -> dict[str, ParameterValue]:
    """Return values as a procedure's parameters have them.

    Raises:
        InputError: One is no value of its parameter's type.
    """
    from ..plan.procedure import read_value

    values: dict[str, ParameterValue] = {}
    for name, text in texts.items():
        parameter = procedure.parameters.get(name)
        if parameter is None:
            values[name] = text  # `fill_in` says what is wrong with it.
            continue
        try:
            values[name] = read_value(text, parameter)
        except ValueError as error:
            raise InputError(f"--param {name}: {error}.", "Give another value.") from None
    return values


def read_run_options(text: str) -> dict[str, Any]:
    """Read options of runs that are given as JSON.

    Raises:
        InputError: They are no object of JSON.
    """
    try:
        found: object = read_json(text) if text else {}
    except NoJsonError as error:
        raise InputError(
            f"--run-options is no JSON: {error}.", """Write it so: '{"max_usd": 2}'."""
        ) from None
    if not isinstance(found, dict):
        raise InputError("--run-options is no object.", """Write it so: '{"max_usd": 2}'.""")
    return cast("dict[str, Any]", found)
