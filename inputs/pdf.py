"""The text layer of a PDF, page by page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..host.bounded import BoundError, ProcessBounds, answer_within
from ..text import whole_characters
from .limits import MAX_PAGES, MAX_PDF_BYTES, MAX_PDF_S

__all__ = ["pdf_text"]

_GUEST = Path(__file__).with_name("pdf_guest.py")
_BOUNDS = ProcessBounds(MAX_PDF_S, answer_bytes=MAX_PDF_BYTES)
_FIXES = {
    "time": "Save it anew in a viewer, or give only the pages that are needed.",
    "memory": "Save it anew in a viewer, or give only the pages that are needed.",
    "answer": "Give only the pages that are needed.",
    "": "It may be damaged: open it in a viewer and save it anew.",
}


def pdf_text(data: bytes, name: str, bounds: ProcessBounds = _BOUNDS) -> str:
    """Return the text of a PDF, each page below a line that says which it is.

    Another process reads it, which may take so long and so much.

    Args:
        data: The file.
        name: What to call it in errors, with its noun.
        bounds: What reading it may take.

    Raises:
        InputError: It is damaged or encrypted, has too many pages, too much text or none, or takes
            more than it may.
    """
    try:
        found: dict[str, Any] = json.loads(answer_within(_GUEST, data, bounds, str(MAX_PAGES)))
    except BoundError as error:
        raise InputError(
            f"The {name} can't be read as a PDF: {error}.", _FIXES[error.over]
        ) from None
    if "encrypted" in found:
        raise InputError(
            f"The {name} is encrypted: it can't be read without its password.",
            "Save it without one, as with: qpdf --decrypt --password=… FILE NEW.",
        )
    if "count" in found:
        raise InputError(
            f"The {name} has {found['count']:,} pages, and at most {MAX_PAGES:,} are read.",
            "Give only the pages that are needed.",
        )
    if "damaged" in found:
        raise _unreadable(name, whole_characters(found["damaged"]).rstrip("."))
    pages: list[str] = [whole_characters(page) for page in found["pages"]]
    if not any(pages):
        raise InputError(
            f"The {name} has no text: its {len(pages):,} page(s) hold pictures at most.",
            "Have its text recognised first, as with: ocrmypdf FILE NEW.",
        )
    return "\n\n".join(_page(number, text) for number, text in enumerate(pages, 1))


def _unreadable(name: str, why: str, over: str = "") -> InputError:
    return InputError(f"The {name} can't be read as a PDF: {why}.", _FIXES[over])


def _page(number: int, text: str) -> str:
    return f"[page {number}]\n{text or '(no text)'}"
