"""How deep a value of lists and objects is, whatever it is made of. Pure."""

from __future__ import annotations

from typing import Any, cast

__all__ = ["is_nested_over"]


def is_nested_over(levels: int, value: object) -> bool:
    """Say whether lists and objects are nested deeper than so many levels.

    What contains itself is.
    """
    level: list[Any] = [value]
    for _ in range(levels + 1):
        # By identity: a value that contains itself twice would double with each level.
        level = [*{id(each): each for parent in level for each in _children(parent)}.values()]
    return bool(level)


def _children(parent: Any) -> list[Any]:
    if isinstance(parent, dict):
        return [*cast("dict[Any, Any]", parent).values()]
    return [*cast("list[Any]", parent)] if isinstance(parent, list | tuple) else []
