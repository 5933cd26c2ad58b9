"""Help is shown as it is written: rich would take `[train]` for markup and leave it out."""

from __future__ import annotations

import copy
import inspect
import re
from typing import Annotated, Any, get_args, get_origin

from rich.markup import escape
from typer.core import HAS_RICH
from typer.models import ParameterInfo

__all__ = ["as_written", "unwrapped", "written"]


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
    return parameter.replace(annotation=Annotated[(kind, *shown)])  # type: ignore[arg-type]


def _shown(about: Any) -> Any:
    if not isinstance(about, ParameterInfo) or not about.help:
        return about
    # Several commands share it, so it isn't changed in place.
    changed = copy.copy(about)
    changed.help = written(about.help)
    return changed
