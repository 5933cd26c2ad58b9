"""The templates of the drawings. What a model wrote is escaped by them. Pure."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from .labels import finished
from .look import SIGNS, Theme, style_sheet

__all__ = ["drawn"]


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(__name__.rpartition(".")[0]),
        autoescape=True,
        finalize=finished,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def drawn(template: str, theme: Theme, **values: Any) -> str:
    """Fill in a template of `templates/`; it knows the signs and the style sheet too."""
    filled = _environment().get_template(template)
    return filled.render(signs=SIGNS, style=style_sheet(theme), **values)
