"""Which kind of document a file is, by its name and its first bytes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import Literal

__all__ = ["InputKind", "advice_for_binary", "is_json_lines", "kind_of"]

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
