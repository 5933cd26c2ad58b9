"""What the name of a tier's model says. Pure."""

from __future__ import annotations

import re

from .errors import InputError

__all__ = ["PYTHON", "model_names", "with_key"]

PYTHON = "python:"
"""What the names of models begin with that were given in Python."""

# A comma ends a name only where another one begins: paths and URLs may have commas.
_NEXT = re.compile(r",\s*(?=demo\b|[A-Za-z][\w-]*:)")


def model_names(text: str) -> tuple[str, ...]:
    """Return the names of a tier's models, the one that serves first; the others stand in for it.

    Raises:
        InputError: One of several is empty or named twice.
    """
    names = tuple(name.strip() for name in _NEXT.split(text))
    if len(set(names)) < len(names) or (len(names) > 1 and not all(names)):
        raise InputError(f"The models {text!r} repeat one.", "Name each model once: a,b.")
    return names


def with_key(text: str, variable: str | None) -> str:
    """Return the names, those of servers at a URL with the environment variable of their key.

    A name that says which variable holds its key keeps it.
    """
    if not variable:
        return text
    return ",".join(
        f"{name}#{variable}" if "@http" in name and "#" not in name else name
        for name in model_names(text)
    )
