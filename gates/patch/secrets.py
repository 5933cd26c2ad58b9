"""Secrets in the lines that a patch adds: keys, tokens and passwords that are written out. Pure.

What may be a secret is found as everywhere in the package, by `host.secrets`. What people write in
the place of one, such as `changeme`, is left out here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ...host.secrets import KEY_FORMS, MASK, mask_written
from ..base import Diagnostic

__all__ = ["secrets_in"]

_SHORTEST = 12
_SHORTEST_PASSWORD = 6
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[ \t]{0,9}(?:\\|$)")
"""The first line of a private key, or a text that has one; not a text that looks for one."""
_PASSWORD = re.compile(
    r"://(?P<user>[^\s/?#:@\"'`<>]{0,200}):(?P<value>[^\s/?#@\"'`<>]{1,200})@(?P<host>[\w.-]{0,200})"
)
_MAY_HAVE_ONE = re.compile(r"\d|://|-----BEGIN")
_STANDS_FOR_ONE = re.compile(
    r"change.?me|x{4}|example|placeholder|dummy|fake|sample|your|insert|replace|redacted|secret"
    r"|passw|\.\.\.|…|\*{3}|[<{]|^[$%]|[$%][({]|test|not.?a|0{8}|123456|abcdef",
    re.IGNORECASE,
)
_NO_KEY = re.compile(r"example|placeholder|dummy|fake|your|redacted|x{6}|0{8}", re.IGNORECASE)
_CALL = re.compile(r"[\w.]{1,100}\(")
_SEPARATOR = re.compile(r"[-_./:+ ]")
_WORD = re.compile(r"[A-Za-z]{0,40}\d{0,4}")
_QUOTES = "\"'`"
_CODE = (
    *(".py", ".pyi", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".go", ".rs", ".java", ".kt"),
    *(".c", ".h", ".cc", ".cpp", ".cs", ".rb", ".php", ".swift", ".scala", ".dart", ".lua", ".ex"),
)
"""Files in which a value without quotes is a name."""

_KEY, _TOKEN = "a private key", "a key or token of a service"
_ADDRESS, _VALUE = "a password in an address", "a password, key or token"


def secrets_in(added: Mapping[str, Sequence[tuple[int, str]]]) -> tuple[Diagnostic, ...]:
    """Return where secrets are among added lines; what is said doesn't repeat them.

    Args:
        added: Lines with their numbers, by the paths of their files.
    """
    return tuple(
        Diagnostic(message=f"{path}: {kind} is written out", line=number)
        for path, lines in added.items()
        for number, line in lines
        for kind in dict.fromkeys(_kinds(line, path.endswith(_CODE)))
    )


def _kinds(line: str, is_code: bool) -> Iterator[str]:
    """Go through the kinds of secrets in a line."""
    if not _MAY_HAVE_ONE.search(line):
        return
    if _PEM.search(line):
        yield _KEY
    if any(not _NO_KEY.search(found[0]) for found in KEY_FORMS.finditer(line)):
        yield _TOKEN
        return
    for found in _PASSWORD.finditer(line):
        if _is_password(found):
            yield _ADDRESS
    for before, value in _masked(line):
        is_literal = before.endswith(tuple(_QUOTES)) or not is_code
        if is_literal and "://" not in before[-200:] and _looks_like_key(value):
            yield _VALUE


def _is_password(found: re.Match[str]) -> bool:
    value = found["value"]
    if value == found["user"] or _STANDS_FOR_ONE.search(value) or "example" in found["host"]:
        return False
    is_long = len(value) >= (_SHORTEST_PASSWORD if _has_digit(value) else _SHORTEST)
    return is_long and len(set(value)) > 2


def _masked(line: str) -> Iterator[tuple[str, str]]:
    """Go through what is masked in a line, with what stands before it."""
    pieces = mask_written(line.replace(MASK, "")).split(MASK)
    place = len(pieces[0])
    for number, piece in enumerate(pieces[1:], start=1):
        end = len(line) if number == len(pieces) - 1 and not piece else line.find(piece, place)
        if end < place:
            return
        yield line[max(0, place - 200) : place], line[place:end]
        place = end + len(piece)


def _looks_like_key(value: str) -> bool:
    """Whether a value is no text for people, no name, and nothing that stands for a secret."""
    value = value.strip(f"{_QUOTES} \t\\")
    if len(value) < _SHORTEST or len(set(value)) < 4 or re.search(r"\s", value):
        return False
    if _STANDS_FOR_ONE.search(value) or _CALL.match(value):
        return False
    is_mixed = _has_digit(value) and any(map(str.isalpha, value))
    return is_mixed and not all(_WORD.fullmatch(part) for part in _SEPARATOR.split(value))


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))
