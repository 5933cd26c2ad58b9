"""What office programs write, as texts that models read: Markdown, and a CSV a sheet."""

from __future__ import annotations

import json
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from ..errors import InputError
from ..host.bounded import BOUNDED_OFFICE, BoundError, ProcessBounds, answer_within
from ..text import size, whole_characters

__all__ = ["OFFICE", "office_kind", "office_texts"]


OFFICE = MappingProxyType(
    {
        ".docx": "docx",
        ".pptx": "pptx",
        ".xlsx": "xlsx",
        ".xlsm": "xlsx",
        ".html": "html",
        ".htm": "html",
        ".xhtml": "html",
        ".epub": "epub",
    }
)
"""The kinds that are read, by the ends of files' names."""
_INSTALL = "Type: pip install 'prefect-swarm[office]'"
_BOUNDS = ProcessBounds(60.0, answer_bytes=32 << 20)
_FIX = "Open it in the program that made it, and save it anew, or as PDF."


def office_kind(name: str) -> str:
    """Return which kind a file is by its name; "" for none of these."""
    return OFFICE.get(PurePath(name).suffix.lower(), "")


def office_texts(
    data: bytes, kind: str, name: str, bounds: ProcessBounds = _BOUNDS
) -> dict[str, str]:
    """Return what a file says: by "" its whole text, or by the names of sheets the CSV of each.

    Another process reads it, which may take so long and so much. HTML without the packages that
    make Markdown of it is an empty mapping: its text is HTML.

    Args:
        data: The file.
        kind: As `office_kind` has it.
        name: What to call it in errors, with its noun.
        bounds: What reading it may take.

    Raises:
        InputError: It is damaged or encrypted, has nothing to read or too much, or the packages of
            the extra `office` aren't installed.
    """
    try:
        found: dict[str, Any] = json.loads(answer_within(BOUNDED_OFFICE, data, bounds, kind))
    except BoundError as error:
        raise InputError(f"The {name} can't be read as {kind.upper()}: {error}.", _FIX) from None
    if "missing" in found:
        if kind == "html":
            return {}
        raise InputError(
            f"Reading the {name} takes packages that aren't installed: {found['missing']}.",
            f"{_INSTALL}. Or save it as PDF, CSV or text, and give that.",
        )
    if "encrypted" in found:
        raise InputError(
            f"The {name} has a password, or is of an older format.",
            "Save it without a password, in today's format.",
        )
    if "unpacked" in found:
        raise InputError(
            f"The {name} unpacks to {size(found['unpacked'])}, which is more than is read.",
            "Give only the part that is needed.",
        )
    if "parts" not in found:
        why = whole_characters(found["damaged"]).rstrip(".")
        raise InputError(f"The {name} can't be read as {kind.upper()}: {why}.", _FIX)
    texts = {part: whole_characters(text) for part, text in found["parts"] if text.strip()}
    if not texts:
        raise InputError(f"The {name} has no text.", "Leave it out, or save it as PDF.")
    return texts
