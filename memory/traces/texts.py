"""Looking for a text in files that hold it as it is or in JSON. Pure, but for reading the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ...untrusted.folder import MOST_BYTES, read_file

__all__ = ["has_any", "plain"]

# JSON in JSON has its escapes escaped again, so any number of backslashes is taken together.
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|([nrtbf])|(?=([\"/]))|)")
_MEANS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def plain(text: str) -> str:
    """Return a text without JSON's escapes, however deep, in one case; to be compared with such."""
    found = _ESCAPE.sub(_meant, text) if "\\" in text else text
    # Characters beyond the first 65,536 are two escapes.
    whole = found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.casefold()


def has_any(path: Path, wanted: Sequence[str]) -> bool:
    """Whether a file has one of these texts, in any case.

    Raises:
        OSError: It can't be read.
    """
    text = read_file(path, MOST_BYTES).decode("utf-8", "replace")
    shown, raw = plain(text), text.casefold()
    return any(plain(look) in shown or look.casefold() in raw for look in wanted)


def _meant(escape: re.Match[str]) -> str:
    code, letter, quoted = escape.groups()
    if code is not None:
        return chr(int(code, 16))
    if letter is not None:
        return _MEANS[letter]
    return "\\" if quoted is None else ""
