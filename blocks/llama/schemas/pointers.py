"""Where a reference of a JSON Schema leads."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import unquote

from ....text import count_in
from .merging import unsayable

__all__ = ["found_at"]


def found_at(document: Any, reference: str) -> Any:
    """Return the part of a document that `#/…` leads to.

    Raises:
        InputError: It leads nowhere, or out of the document.
    """
    if reference != "#" and not reference.startswith("#/"):
        raise unsayable(f"$ref {reference!r} leads out of it")
    found = document
    for part in reference.split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = cast("dict[str, Any]", found)[key]
        elif (
            isinstance(found, list)
            and (at := count_in(key)) is not None
            and at < len(cast("list[Any]", found))
        ):
            found = cast("list[Any]", found)[at]
        else:
            raise unsayable(f"$ref {reference!r} leads nowhere")
    return found
