"""Environment variables in the texts of a configuration. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

__all__ = ["UnsetVariableError", "expanded"]

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}")


class UnsetVariableError(Exception):
    """A text needs a variable that isn't set; `where` is its place: `env.TOKEN`, `args.2`."""

    def __init__(self, variable: str, where: str) -> None:
        super().__init__(variable, where)
        self.variable, self.where = variable, where


def expanded(value: Any, variables: Mapping[str, str], where: str = "") -> Any:
    """Return JSON data with each `${NAME}` and `${NAME:-default}` of its texts replaced.

    What a variable holds is taken as it is: references in it stay. An empty variable counts as
    unset where a default is given, as in a shell.

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
        if has_default:
            return variables.get(name) or default
        if name not in variables:
            raise UnsetVariableError(name, where)
        return variables[name]

    return _REFERENCE.sub(replace, text)


def _within(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
