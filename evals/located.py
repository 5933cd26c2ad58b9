"""YAML with the lines that its values are in. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import yaml

__all__ = ["Located", "read_yaml"]


class Located(NamedTuple):
    """What a YAML text has, and the node that it was made of; None for an empty text."""

    value: Any
    node: yaml.Node | None

    def line_of(self, path: Sequence[str | int]) -> int:
        """Return the line, from 1, of the value that a path leads to, or of the last on its way."""
        node, line = self.node, 1
        for part in (None, *path):
            found = node if part is None else _child(node, part)
            if found is None:
                break
            node, line = found, found.start_mark.line + 1
        return line


def read_yaml(text: str) -> Located:
    """Read one document.

    Raises:
        ValueError: It is not YAML, has a key twice, or has what only other programs can make; says
            where.
    """
    try:
        compose = cast("Callable[..., yaml.Node | None]", yaml.compose)  # pyright: ignore[reportUnknownMemberType]
        node = compose(text, Loader=yaml.SafeLoader)
        for line, key in _repeated(node, set()) if node is not None else ():
            raise ValueError(f"{key!r} is there twice, the second time in line {line}")
        return Located(yaml.safe_load(text), node)
    except yaml.MarkedYAMLError as error:
        raise ValueError(f"{error.problem or error.context}{_at(error)}") from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _at(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark
    return f", in line {mark.line + 1}" if mark is not None else ""


def _child(node: yaml.Node | None, part: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part]
    return None


def _repeated(node: yaml.Node, seen: set[int]) -> Iterator[tuple[int, str]]:
    """Find keys that a mapping has twice; a node that anchors lead to again is looked at once."""
    if id(node) in seen or not isinstance(node, yaml.CollectionNode):
        return
    seen.add(id(node))
    keys = set[str]()
    for entry in node.value:
        if isinstance(node, yaml.MappingNode):
            key, value = entry
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in keys:
                    yield key.start_mark.line + 1, key.value
                keys.add(key.value)
            yield from _repeated(value, seen)
        else:
            yield from _repeated(entry, seen)
