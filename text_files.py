"""Reading a text file that a user names: what is wrong with it is said with the place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

from .errors import InputError

__all__ = ["decoded", "encoding_problem", "file_problem", "read_text"]

_BOM = "\ufeff"
_LARGEST = 256 << 20
"""Bytes of a file that is read as a whole; a device may have no end."""


def read_text(path: Path, what: str = "file", advice: str = "", *, whole: bool = False) -> str:
    """Return the text of a UTF-8 file; `-` is standard input.

    Line ends become newlines, and the mark that some editors put before UTF-8 is left out.

    Args:
        path: The file.
        what: What to call it in errors.
        advice: What to do where it is missing; "Check the path." if nothing is given.
        whole: Keep the mark at the beginning: it is a part of what is checked.

    Raises:
        InputError: It can't be read, or it is not UTF-8; says which byte isn't.
    """
    is_stdin = str(path) == "-"
    name = "text on standard input" if is_stdin else f"{what} {path}"
    try:
        data = _bytes_of(sys.stdin.buffer) if is_stdin else _file_bytes(path)
    except (OSError, ValueError) as error:
        raise file_problem(name, error, advice) from None
    if len(data) > _LARGEST:
        raise InputError(
            f"The {name} has more than {_LARGEST >> 20} MiB.", "Give a smaller one, or its parts."
        )
    return decoded(data, name, whole=whole)


def _file_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return _bytes_of(file)


def _bytes_of(file: BinaryIO) -> bytes:
    return file.read(_LARGEST + 1)


def decoded(data: bytes, name: str, *, whole: bool = False) -> str:
    """Return the text that a UTF-8 file has, with newlines for line ends.

    Args:
        data: The file.
        name: What to call it in errors, with its noun: `plan plan.json`.
        whole: Keep the mark that some editors put before UTF-8.

    Raises:
        InputError: It is not UTF-8; says which byte isn't.
    """
    if (wrong := encoding_problem(data)) is not None:
        raise InputError(f"The {name} can't be read as UTF-8: {wrong}.", _other_encoding(data))
    text = data.decode("utf-8")
    if not whole:
        text = text.removeprefix(_BOM)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def encoding_problem(data: bytes) -> str | None:
    """Say which byte is not UTF-8, and in which line; None if all are."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"byte {error.start + 1:,} is 0x{data[error.start]:02x}, in line {line:,}"
    return None


def file_problem(name: str, error: OSError | ValueError, advice: str = "") -> InputError:
    """Return what to say of a file that can't be read.

    Args:
        name: The file with its noun: `plan plan.json`.
        error: Why not.
        advice: What to do where it is missing.
    """
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    match error:
        case PermissionError():
            advice = "Check its permissions."
        case IsADirectoryError():
            advice = "Give a file, not a folder."
        case _:
            advice = advice or "Check the path."
    return InputError(f"The {name} can't be read: {reason}.", advice)


def _other_encoding(data: bytes) -> str:
    """Say what to do about bytes that are not UTF-8, by what they look like."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "It looks like UTF-16. Save it as UTF-8, or: iconv -f UTF-16 -t UTF-8 FILE > NEW"
    if b"\0" in data[:8192]:
        return "It looks like a binary file. Give a text file."
    return "Save it as UTF-8; from Latin-1: iconv -f LATIN1 -t UTF-8 FILE > NEW"
