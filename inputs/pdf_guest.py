"""Runs in a process of its own: takes the text out of a PDF, page by page.

It knows nothing of this package: a PDF comes in, and JSON goes out.
"""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from typing import Any


def found_in(data: bytes, most_pages: int) -> dict[str, Any]:
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


if __name__ == "__main__":
    found = found_in(sys.stdin.buffer.read(), int(sys.argv[1]))
    sys.stdout.write(json.dumps(found))
