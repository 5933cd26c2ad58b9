"""A run's view without secrets, before anything of it is cut or drawn. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from ...toolsets.calling.masking import mask_written

__all__ = ["masked"]

T = TypeVar("T")


def masked(data: T, secrets: Collection[str] = ()) -> T:
    """Return a view, or a part of it, with the secrets in its texts masked.

    Args:
        secrets: Values that must not be shown, such as those of the environment's keys.
    """
    return cast("T", _masked(data, partial(mask_written, secrets=secrets)))


def _masked(value: object, hide: Callable[[str], str]) -> object:
    """Return the value, or what takes its place; the same object where nothing is hidden."""
    if isinstance(value, str):
        return hide(value) if len(value) > _SHORTEST else value
    if isinstance(value, tuple | list):
        parts = cast("tuple[object, ...] | list[object]", value)
        hidden = [_masked(part, hide) for part in parts]
        same = all(new is old for new, old in zip(hidden, parts, strict=True))
        if same:
            return parts
        return tuple(hidden) if isinstance(parts, tuple) else hidden
    if isinstance(value, BaseModel):
        changed = _changes(value, list(type(value).model_fields), hide)
        return value.model_copy(update=changed) if changed else value
    if is_dataclass(value) and not isinstance(value, type):
        changed = _changes(value, [each.name for each in fields(value)], hide)
        return replace(cast("Any", value), **changed) if changed else value
    return value


def _changes(value: object, names: list[str], hide: Callable[[str], str]) -> dict[str, object]:
    parts = {name: getattr(value, name) for name in names}
    hidden = {name: _masked(part, hide) for name, part in parts.items()}
    return {name: part for name, part in hidden.items() if part is not parts[name]}


_SHORTEST = 5  # no secret is shorter, and most texts of a run are
