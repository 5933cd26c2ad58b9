"""Environment variables in the texts of a configuration. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

__all__ = ["INPUT", "UnsetVariableError", "expanded", "variable_of_input"]

INPUT = "input:"
"""Stands before the id of what VS Code asks its user for: `${input:api-key}`."""
_REFERENCE = re.compile(
    # What isn't closed reaches to the end, so that it is read once; `_text` leaves it as it is.
    r"\$\{(?:env:)?(input:[^}:]++|[A-Za-z_][A-Za-z0-9_]*+)(:-([^}]*+))?\}|\$\{(env:[^}]*+)\}"
    r"|\$\{(?:env:|[A-Za-z_][A-Za-z0-9_]*+:-)[^}]*+\Z"
)
_FOREIGN = re.compile(r"[^A-Za-z0-9]+")


class UnsetVariableError(Exception):
    """A text needs a variable that isn't set.

    Attributes:
        variable: The environment variable.
        where: The place of the text: `env.TOKEN`, `args.2`.
        asked: The id of an input that the variable stands for; "" without one.
    """

    def __init__(self, variable: str, where: str, asked: str = "") -> None:
        super().__init__(variable, where)
        self.variable, self.where, self.asked = variable, where, asked


def variable_of_input(name: str) -> str:
    """Return the environment variable that stands for an input: `API_KEY` for `api-key`."""
    variable = _FOREIGN.sub("_", name).strip("_").upper()
    return variable if variable[:1].isalpha() else f"INPUT_{variable}"


def expanded(value: Any, variables: Mapping[str, str], where: str = "") -> Any:
    """Return JSON data with each `${NAME}` and `${NAME:-default}` of its texts replaced.

    `${env:NAME}` is the same, and `${input:api-key}` is `${API_KEY}`. What a variable holds is
    taken as it is: references in it stay. An empty variable counts as unset where a default is
    given, as in a shell.

    Args:
        value: Data as `json.loads` gives it.
        variables: By their names; the default of an input by `input:` and its id.
        where: The place of the value.

    Raises:
        UnsetVariableError: A variable without a default isn't set.
    """
    match value:
        case str():
            return _text(value, variables, where)
        case dict():
            named = cast("dict[str, Any]", value)
            return {key: expanded(of, variables, _within(where, key)) for key, of in named.items()}
        case list():
            items = cast("list[Any]", value)
            return [expanded(of, variables, _within(where, str(n))) for n, of in enumerate(items)]
        case _:
            return value


def _text(text: str, variables: Mapping[str, str], where: str) -> str:
    def replace(found: re.Match[str]) -> str:
        name, has_default, default = found[1], found[2] is not None, found[3]
        if name is None and found[4] is None:
            return found[0]
        if name is None:
            # Windows has variables such as `ProgramFiles(x86)`.
            name = found[4].removeprefix("env:")
        asked = name.removeprefix(INPUT) if name.startswith(INPUT) else ""
        variable = variable_of_input(asked) if asked else name
        value = variables.get(variable)
        if has_default:
            return value or default
        if value is None and asked:
            value = variables.get(name)
        if value is None:
            raise UnsetVariableError(variable, where, asked)
        return value

    return _REFERENCE.sub(replace, text)


def _within(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
