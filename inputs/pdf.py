"""The text layer of a PDF, page by page."""

from __future__ import annotations

import io
import logging

from ..errors import InputError
from .limits import MAX_PAGES

__all__ = ["pdf_text"]


def pdf_text(data: bytes, name: str) -> str:
    """Return the text of a PDF, each page below a line that says which it is.

    Args:
        data: The file.
        name: What to call it in errors, with its noun.

    Raises:
        InputError: It is damaged or encrypted, has too many pages, or no text.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    # What it repairs in a file by itself it writes to the log, page by page.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        count = len(reader.pages)
        _check_count(count, name)
        pages = [page.extract_text().strip() for page in reader.pages]
    except InputError:
        raise
    except (DependencyError, FileNotDecryptedError):
        raise InputError(
            f"The {name} is encrypted: it can't be read without its password.",
            "Save it without one, as with: qpdf --decrypt --password=… FILE NEW.",
        ) from None
    except Exception as error:  # noqa: BLE001 - what a damaged file leads to has many types
        why = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        raise InputError(
            f"The {name} can't be read as a PDF: {why}.",
            "It may be damaged: open it in a viewer and save it anew.",
        ) from None
    if not any(pages):
        raise InputError(
            f"The {name} has no text: its {count:,} page(s) hold pictures at most.",
            "Have its text recognised first, as with: ocrmypdf FILE NEW.",
        )
    return "\n\n".join(_page(number, text) for number, text in enumerate(pages, 1))


def _check_count(count: int, name: str) -> None:
    if count > MAX_PAGES:
        raise InputError(
            f"The {name} has {count:,} pages, and at most {MAX_PAGES:,} are read.",
            "Give only the pages that are needed.",
        )


def _page(number: int, text: str) -> str:
    return f"[page {number}]\n{text or '(no text)'}"
