"""Runs in a process of its own: work on what others wrote, which may take forever.

It knows nothing of this package: bytes come in, and JSON goes out. Its argument names the work:
`pages N` takes the text out of a PDF, page by page; `patterns` finds those that a text has no
match of.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
from collections.abc import Iterable
from typing import Any

__all__ = ["pdf_pages", "unmatched"]


def pdf_pages(data: bytes, most_pages: int) -> dict[str, Any]:
    """Return the texts of the pages, or what is wrong."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    # What it repairs in a file by itself it writes to the log, page by page.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        if (count := len(reader.pages)) > most_pages:
            return {"count": count}
        pages = [page.extract_text().strip() for page in reader.pages]
    except (DependencyError, FileNotDecryptedError):
        return {"encrypted": True}
    except MemoryError:
        os._exit(3)
    except Exception as error:  # noqa: BLE001 - what a damaged file leads to has many types
        return {"damaged": " ".join(str(error).split())[:200] or type(error).__name__}
    return {"pages": pages}


def unmatched(patterns: Iterable[str], text: str) -> list[str]:
    """Return the patterns that a text has no match of."""
    return [pattern for pattern in patterns if not re.search(pattern, text)]


def _main(work: str) -> None:
    kind, _, most = work.partition(" ")
    if kind == "pages":
        found: Any = pdf_pages(sys.stdin.buffer.read(), int(most))
    else:
        found = unmatched(*json.load(sys.stdin))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    _main(sys.argv[1])
