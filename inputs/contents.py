"""What a file's bytes say: its kind, and its text within bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import Literal

from ..errors import InputError
from ..text_files import decoded
from .pdf import pdf_text

__all__ = ["InputKind", "advice_for_binary", "is_json_lines", "kind_of", "text_of"]


InputKind = Literal["text", "Markdown", "CSV", "JSON", "PDF"]

_KINDS: Mapping[str, InputKind] = MappingProxyType(
    {
        ".md": "Markdown",
        ".markdown": "Markdown",
        ".csv": "CSV",
        ".tsv": "CSV",
        ".json": "JSON",
        ".jsonl": "JSON",
        ".ndjson": "JSON",
        ".pdf": "PDF",
    }
)
_JSON_LINES = frozenset({".jsonl", ".ndjson"})
_PDF_BEGINNING = b"%PDF-"
_SHEETS = frozenset({".xls", ".xlsx", ".ods", ".numbers", ".parquet"})
_DOCUMENTS = frozenset(
    {".doc", ".docx", ".odt", ".rtf", ".ppt", ".pptx", ".odp", ".pages", ".epub"}
)


def kind_of(name: str, beginning: bytes = b"") -> InputKind:
    """Return the kind of a file; what has no suffix that is known counts as text.

    Args:
        name: The file's name or path.
        beginning: Its first bytes; a PDF is known by them whatever it is called.
    """
    if beginning.startswith(_PDF_BEGINNING):
        return "PDF"
    return _KINDS.get(_suffix(name), "text")


def is_json_lines(name: str) -> bool:
    """Say whether a file has one JSON document a line, by its name."""
    return _suffix(name) in _JSON_LINES


def advice_for_binary(name: str) -> str:
    """Say what to do about a file that is no text."""
    if _suffix(name) in _SHEETS:
        return "Save the sheet as CSV, and give that."
    if _suffix(name) in _DOCUMENTS:
        return "Save it as PDF or as text, and give that."
    return "Give text, Markdown, CSV, JSON or PDF."


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()


_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def text_of(data: bytes, name: str, noun: str = "input") -> str:
    """Return a file's text; of CSV and JSON as it stands, of a PDF its text layer.

    Args:
        data: The file.
        name: The file's name or path.
        noun: What to call it in errors.

    Raises:
        InputError: It is empty, binary, not UTF-8 (says which byte), not JSON (says where), or a
            PDF without text.
    """
    called = f"{noun} {name}"
    if not data:
        raise InputError(f"The {called} is empty.", "Leave it out.")
    kind = kind_of(name, data)
    if kind == "PDF":
        return pdf_text(data, called)
    if b"\0" in data and not data.startswith(_UTF16):
        raise InputError(f"The {called} is a binary file.", advice_for_binary(name))
    text = decoded(data, called)
    if not text.strip():
        raise InputError(f"The {called} holds nothing but blanks.", "Leave it out.")
    if kind == "JSON":
        _check_json(text, called, by_line=is_json_lines(name))
    return text


def _check_json(text: str, called: str, *, by_line: bool) -> None:
    # Not splitlines, which also splits at characters that JSON allows inside a string.
    documents = text.split("\n") if by_line else [text]
    for number, document in enumerate(documents, 1):
        if by_line and not document.strip():
            continue
        try:
            json.loads(document)
        except json.JSONDecodeError as error:
            line = number if by_line else error.lineno
            where = f"{error.msg} in line {line:,}, column {error.colno:,}"
            raise _no_json(called, where) from None
        except (ValueError, RecursionError) as error:
            # A number of thousands of digits, or thousands of brackets.
            raise _no_json(called, str(error)) from None


def _no_json(called: str, where: str) -> InputError:
    return InputError(
        f"The {called} is not JSON: {where}.", "Correct it, or give it a name that ends in .txt."
    )
