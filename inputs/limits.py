"""How much a run may be given to read, and why so much. Pure."""

from __future__ import annotations

from ..errors import InputError

__all__ = [
    "MAX_FILES",
    "MAX_FILE_BYTES",
    "MAX_PAGES",
    "MAX_PDF_BYTES",
    "MAX_PDF_S",
    "MAX_TEXT_BYTES",
    "check_total",
    "size",
]

MAX_FILE_BYTES = 32 << 20
"""Bytes of a file: a PDF with pictures has more bytes than text, and all are read into memory."""
MAX_TEXT_BYTES = 8 << 20
"""Bytes of all texts together, as UTF-8: some 2.8 million tokens, more than a model reads at once.
A run's folder keeps the texts several times: as given, in the plan and in the result."""
MAX_FILES = 200
"""Files of a run: a folder with more is likely one that was not meant."""
MAX_PAGES = 2000
"""Pages of a PDF: taking the text out of so many takes about a minute."""
MAX_PDF_S = 120.0
"""Seconds of computing that reading a PDF may take: the most pages of usual ones take half."""
MAX_PDF_BYTES = 32 << 20
"""Bytes of a PDF's texts, as JSON: four times what a run may be given."""


def size(count: int) -> str:
    """Write a count of bytes for people."""
    if count < 1 << 20:
        return f"{count / 1024:,.1f} KiB"
    return f"{count / (1 << 20):,.1f} MiB" if count < 1 << 30 else f"{count / (1 << 30):,.1f} GiB"


def check_total(total: int) -> None:
    """Refuse more text than a run may be given.

    Args:
        total: Bytes of all texts so far.

    Raises:
        InputError: It is too much.
    """
    if total > MAX_TEXT_BYTES:
        most = size(MAX_TEXT_BYTES)
        raise InputError(
            f"The inputs have {size(total)} of text or more, and a run takes {most}.",
            "Give fewer files, or only the parts that are needed.",
        )
