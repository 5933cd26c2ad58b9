"""What the name of a tier's model says. Pure."""

from __future__ import annotations

import re
from pathlib import PurePath
from urllib.parse import urlsplit

from .errors import InputError

__all__ = ["PYTHON", "model_names", "servers_of", "with_key", "without_place"]

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


def without_place(name: str) -> str:
    """Return a model's name without its server, the variable of its key, and a file's folder."""
    kind, _, rest = name.partition(":")
    if kind == "llamacpp":
        return f"{kind}:{PurePath(rest).name}"
    return name.partition("@")[0] if "://" in name else name


def servers_of(text: str) -> frozenset[str]:
    """Return the servers, scheme and host, of the names that have a URL."""
    urls = (name.partition("@")[2] for name in model_names(text))
    parts = (urlsplit(url) for url in urls if "://" in url)
    return frozenset(f"{url.scheme}://{url.netloc}" for url in parts)


def with_key(text: str, variable: str | None, servers: frozenset[str] | None = None) -> str:
    """Return the names, those of servers at a URL with the environment variable of their key.

    A name that says which variable holds its key keeps it.

    Args:
        text: A name, or several.
        variable: The variable; None leaves the names as they are.
        servers: The only servers that get the key; None for all.
    """
    if not variable:
        return text

    def keyed(name: str) -> str:
        is_without = "@http" in name and "#" not in name
        is_trusted = servers is None or servers_of(name) <= servers
        return f"{name}#{variable}" if is_without and is_trusted else name

    return ",".join(map(keyed, model_names(text)))
